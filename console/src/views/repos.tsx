import { useMemo, useState } from 'preact/hooks';
import { formatAge } from '../../../cli/render.ts';
import type { RepoBody } from '../../../lambda/api/contract/repos.ts';
import type { SubscriptionBody } from '../../../lambda/api/contract/tenants.ts';
import { type Column, growthText, type Order, repoSumText, sortRepos } from '../figures.ts';
import { Card, CsvButton, Cut, Title } from '../parts.tsx';
import { bytesText, nameOf, percentText, scanText } from '../text.ts';
import type { ViewProps } from '../view-props.ts';

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

export function Repos({ session, address, body, nowMs }: ViewProps) {
  return (
    <main>
      <Title address={address} />
      {body.repos.length > 0 ? (
        <RepoTable body={body} isForSome={session.repos !== null} nowMs={nowMs} />
      ) : (
        <p class="soft">None yet. A repo appears with its first push.</p>
      )}
    </main>
  );
}

/** Repos to sort and search: all, or the largest. */
function RepoTable(props: {
  body: SubscriptionBody;
  /** Whoever has signed in sees some repos alone. */
  isForSome: boolean;
  nowMs: number;
}) {
  const { body, isForSome, nowMs } = props;
  const { tenant, repos, reposTruncated: isTruncated = false } = body;
  const totalBytes = body.usage?.storedBytes ?? null;
  const [order, setOrder] = useState<Order>({ column: 'storedBytes', isDown: true });
  const [wanted, setWanted] = useState('');
  const sorted = useMemo(() => sortRepos(repos, order), [repos, order]);
  const shown = sorted.filter(({ repo }) => nameOf(repo).toLowerCase().includes(wanted.trim().toLowerCase()));
  const most = Math.max(1, ...repos.map(({ storedBytes }) => storedBytes ?? 0));
  const note =
    wanted.trim() === ''
      ? repoSumText(repos, { totalBytes, isForSome, isTruncated })
      : `${scanText(shown.length)} of ${scanText(repos.length)}`;
  return (
    <Card
      title="Repos"
      note={<span role="status">{note}</span>}
      action={
        <>
          <input
            type="search"
            aria-label="Find a repo"
            placeholder="Find a repo"
            value={wanted}
            onInput={({ currentTarget }) => setWanted(currentTarget.value)}
          />
          <CsvButton name="repos" tenant={tenant} rows={sorted.map(flat)} fields={csvFields} />
        </>
      }
    >
      <table class="repos">
        <thead>
          <tr>
            <Heading column="repo" name="Repo" order={order} onOrder={setOrder} />
            <Heading column="storedBytes" name="Stored" order={order} onOrder={setOrder} isRight />
            <td class="wide" />
            <th scope="col" class="right">
              Share
            </th>
            <Heading
              column="objectCount"
              name="Objects"
              order={order}
              onOrder={setOrder}
              isRight
              isSecondary
            />
            <Heading column="growth" name="30 days" order={order} onOrder={setOrder} isRight isSecondary />
            <Heading column="scannedAt" name="Updated" order={order} onOrder={setOrder} isRight isSecondary />
          </tr>
        </thead>
        <tbody>
          {shown.map((repo) => (
            <Row key={repo.repo} body={repo} most={most} totalBytes={totalBytes} nowMs={nowMs} />
          ))}
        </tbody>
      </table>
      {shown.length === 0 && <p class="soft">No repo here has “{wanted.trim()}” in its name.</p>}
      <Cut isCut={isTruncated} count={repos.length} />
    </Card>
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

function Row(props: { body: RepoBody; most: number; totalBytes: number | null; nowMs: number }) {
  const { body, most, totalBytes, nowMs } = props;
  const { repo, storedBytes, objectCount, scannedAt, limitBytes, deleting, publicRead } = body;
  const growth = growthText(body, nowMs);
  return (
    <tr>
      <th scope="row">
        <span class="name">{nameOf(repo)}</span>
        {deleting && <span class="pill">being deleted</span>}
        {publicRead && <span class="pill">public</span>}
        {limitBytes !== null && <span class="pill">limit {bytesText(limitBytes)}</span>}
        {scannedAt !== null && (
          <p class="note narrow">
            {body.before && `${growth.text} ${growth.since || 'in 30 days'}, `}updated{' '}
            {formatAge(scannedAt, nowMs)}
          </p>
        )}
      </th>
      <td class="right strong">{storedBytes === null ? '–' : bytesText(storedBytes)}</td>
      <td class="wide">
        <svg class="share" aria-hidden="true">
          <rect
            class="fill"
            width={`${Math.max(0.5, ((storedBytes ?? 0) / most) * 100)}%`}
            height="100%"
            rx="2"
          />
        </svg>
      </td>
      <td class="right soft">
        {storedBytes === null || totalBytes === null ? '–' : percentText(storedBytes, totalBytes)}
      </td>
      <td class="right wide">{scanText(objectCount)}</td>
      <td class="right wide soft">
        {growth.text}
        {growth.since && <p class="note">{growth.since}</p>}
      </td>
      <td class="right wide soft">{scannedAt === null ? 'not yet' : formatAge(scannedAt, nowMs)}</td>
    </tr>
  );
}
