import { useEffect, useMemo, useState } from 'preact/hooks';
import type { RepoBody } from '../../../lambda/api/contract/repos.ts';
import type { SubscriptionBody } from '../../../lambda/api/contract/tenants.ts';
import { repoPattern } from '../../../lambda/rules/names.ts';
import { formatAddress, repoAddress } from '../address.ts';
import { askPages, type Listed } from '../api.ts';
import { type Column, growthText, type Order, repoSumText, sortRepos } from '../figures.ts';
import { go } from '../navigation.ts';
import { Choice, CsvButton, Cut, Share, Title } from '../parts.tsx';
import { change } from '../requests.ts';
import { bytesText, nameOf, percentText, scanText } from '../text.ts';
import type { ViewProps } from '../view-props.ts';
import { FormDialog } from './dialog.tsx';
import { TextField } from './fields.tsx';
import { usePages } from './pager.tsx';
import { addedByWeek } from './repo-weeks.ts';

const nameRule = 'Use letters, digits, dots, hyphens and underscores, without .git at the end.';

const rowsMax = 10;
const pagesMax = 10;

const csvFields = [
  'repo',
  'storedBytes',
  'objectCount',
  'scannedAt',
  'beforeDay',
  'beforeBytes',
  'limitBytes',
  'deleting',
] as const;

const flat = (repo: RepoBody) => ({
  ...repo,
  beforeDay: repo.before?.day,
  beforeBytes: repo.before?.storedBytes,
});

const kinds: Readonly<Record<string, (repo: RepoBody) => boolean>> = {
  All: () => true,
  Public: ({ publicRead }) => publicRead !== undefined,
  Limited: ({ limitBytes }) => limitBytes !== null,
  Linked: ({ gitHost }) => gitHost !== undefined,
};

/** All repos, read page after page: the figures have the largest 1,000, and not which are linked. */
function useRepos({ tenant, repos, reposTruncated, usage }: SubscriptionBody): Listed<RepoBody> {
  const [listed, setListed] = useState<Listed<RepoBody>>();
  useEffect(() => {
    void askPages<RepoBody, 'repos'>(`/v1/tenants/${tenant}/repos?weeks=true`, 'repos', { pagesMax }).then(
      (found) => found && setListed(found),
    );
  }, [tenant, usage?.scannedAt, repos.length]);
  return listed ?? { items: repos, isCut: reposTruncated === true };
}

/** Repos to sort and search, the largest first. */
export function Repos({ tenant, session, address, body, mayManage, nowMs }: ViewProps) {
  const { items: repos, isCut } = useRepos(body);
  const totalBytes = body.usage?.storedBytes ?? null;
  const [order, setOrder] = useState<Order>({ column: 'storedBytes', isDown: true });
  const [wanted, setWanted] = useState('');
  const [kind, setKind] = useState('All');
  const [isMaking, setIsMaking] = useState(false);
  const sorted = useMemo(() => sortRepos(repos, order), [repos, order]);
  const text = wanted.trim().toLowerCase();
  const found = sorted.filter(
    (repo) => kinds[kind]?.(repo) && nameOf(repo.repo).toLowerCase().includes(text),
  );
  const { shown, pager, toFirst } = usePages(found, rowsMax);
  const start =
    <Value,>(set: (value: Value) => void) =>
    (value: Value) => {
      set(value);
      toFirst();
    };
  const heading = { order, onOrder: start(setOrder) };
  return (
    <main>
      <Title
        address={address}
        note={
          <p class="note">
            {repoSumText(repos, { totalBytes, isForSome: session.repos !== null, isTruncated: isCut })}
          </p>
        }
        action={
          mayManage && (
            <button type="button" onClick={() => setIsMaking(true)}>
              New repo
            </button>
          )
        }
      />
      <section class="card" aria-label="Repos">
        <div class="head">
          <input
            type="search"
            aria-label="Find a repo"
            placeholder="Find a repo"
            value={wanted}
            onInput={({ currentTarget }) => start(setWanted)(currentTarget.value)}
          />
          <Choice
            name="repo-kind"
            label="Which repos"
            values={Object.keys(kinds)}
            value={kind}
            onChoose={start(setKind)}
          />
          <div class="end">
            <CsvButton name="repos" tenant={tenant} rows={sorted.map(flat)} fields={csvFields} />
          </div>
        </div>
        <table class="repos">
          <thead>
            <tr>
              <Heading column="repo" name="Repo" {...heading} />
              <Heading column="storedBytes" name="Stored" isRight {...heading} />
              <td class="wide" />
              <th scope="col" class="right">
                Share
              </th>
              <th scope="col" class="wide">
                Added weekly
              </th>
              <Heading column="growth" name="30 days" isRight isSecondary {...heading} />
              <Heading column="objectCount" name="Objects" isRight isSecondary {...heading} />
            </tr>
          </thead>
          <tbody>
            {shown.map((repo) => (
              <Row key={repo.repo} tenant={tenant} body={repo} totalBytes={totalBytes} nowMs={nowMs} />
            ))}
          </tbody>
        </table>
        {found.length === 0 && <p class="soft">No repo matches. Change the search or the filter.</p>}
        {pager}
        <Cut isCut={isCut} count={repos.length} />
      </section>
      {isMaking && <NewRepo tenant={tenant} onClose={() => setIsMaking(false)} />}
    </main>
  );
}

function Heading(props: {
  column: Column;
  name: string;
  order: Order;
  onOrder: (order: Order) => void;
  isRight?: boolean;
  isSecondary?: boolean;
}) {
  const { column, name, order, onOrder, isRight = false, isSecondary = false } = props;
  const isOwn = order.column === column;
  const isDown = isOwn ? !order.isDown : column !== 'repo';
  return (
    <th
      scope="col"
      class={`${isRight ? 'right ' : ''}${isSecondary ? 'wide' : ''}`}
      aria-sort={isOwn ? (order.isDown ? 'descending' : 'ascending') : 'none'}
    >
      <button type="button" onClick={() => onOrder({ column, isDown })}>
        {name}
        <span aria-hidden="true">{isOwn ? (order.isDown ? ' ↓' : ' ↑') : ''}</span>
      </button>
    </th>
  );
}

function Row(props: { tenant: string; body: RepoBody; totalBytes: number | null; nowMs: number }) {
  const { tenant, body, totalBytes, nowMs } = props;
  const { repo, storedBytes, objectCount, limitBytes, deleting, publicRead, gitHost, weeks } = body;
  const growth = growthText(body, nowMs);
  const whole = limitBytes ?? totalBytes;
  return (
    <tr>
      <th scope="row">
        {repoPattern.test(repo) ? (
          <a href={formatAddress(repoAddress(tenant, repo))}>{repo}</a>
        ) : (
          nameOf(repo)
        )}
        {deleting && <span class="pill">being deleted</span>}
        {publicRead && <span class="pill">public</span>}
        {limitBytes !== null && <span class="pill">limit {bytesText(limitBytes)}</span>}
        {gitHost && <span class="pill">{gitHost.host}</span>}
        <p class="note narrow">
          {growth.text} {growth.since || 'in 30 days'}
        </p>
      </th>
      <td class="right strong">{storedBytes === null ? '–' : bytesText(storedBytes)}</td>
      <td class="wide">
        {storedBytes !== null && whole !== null && <Share of={whole} bytes={storedBytes} />}
      </td>
      <td class="right soft">
        {storedBytes === null || whole === null ? '–' : percentText(storedBytes, whole)}
        {limitBytes !== null && <p class="note">of its limit</p>}
      </td>
      <td class="wide">{weeks && <Weeks weeks={weeks} />}</td>
      <td class="right wide soft">
        {growth.text}
        {growth.since && <p class="note">{growth.since}</p>}
      </td>
      <td class="right wide">{scanText(objectCount)}</td>
    </tr>
  );
}

/** What each week added: bars up, and deletes down. */
function Weeks({ weeks }: { weeks: readonly (number | null)[] }) {
  const added = addedByWeek(weeks);
  const most = Math.max(1, ...added.map((bytes) => Math.abs(bytes ?? 0)));
  const width = 100 / Math.max(1, added.length);
  return (
    <svg class="weeks" aria-hidden="true">
      {added.map((bytes, index) => {
        const height = (Math.abs(bytes ?? 0) / most) * 60;
        return (
          <rect
            key={index}
            class="fill"
            x={`${index * width}%`}
            y={`${(bytes ?? 0) < 0 ? 60 : 60 - height}%`}
            width={`${width * 0.75}%`}
            height={`${(bytes ?? 0) < 0 ? height * (40 / 60) : height}%`}
          />
        );
      })}
    </svg>
  );
}

/** Creates an empty repo, and leads to it. */
function NewRepo({ tenant, onClose }: { tenant: string; onClose: () => void }) {
  const [repo, setRepo] = useState('');
  const create = async () => {
    if (!repoPattern.test(repo)) return nameRule;
    const { problem } = await change(`/v1/tenants/${tenant}/repos`, { method: 'POST', body: { repo } });
    if (problem === undefined) go(repoAddress(tenant, repo));
    return problem;
  };
  return (
    <FormDialog title="New repo" action="Create" run={create} onClose={onClose}>
      <TextField label="Name" value={repo} onType={setRepo} isFirst />
    </FormDialog>
  );
}
