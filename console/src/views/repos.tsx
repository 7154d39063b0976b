import { useMemo, useState } from 'preact/hooks';
import type { RepoBody, SubscriptionBody } from '../../../lambda/contract.ts';
import { repoPattern } from '../../../lambda/core/rules/names.ts';
import { repoAddress } from '../address.ts';
import type { Listed } from '../api.ts';
import { type Order, repoSumText, sortRepos } from '../figures.ts';
import { go } from '../navigation.ts';
import { Button, Choice, CsvButton, Cut, Title } from '../parts.tsx';
import { change, useList } from '../requests.ts';
import { nameOf, scanText } from '../text.ts';
import type { RepoKinds, SubjectParts, ViewProps } from '../view-props.ts';
import { type Question, useDialog } from './dialog.tsx';
import { usePages } from './pages.tsx';
import { repoColumns } from './repo-columns.tsx';
import { subjectParts } from './subject-parts.ts';
import { type Column, Table } from './table.tsx';

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

const ownKinds: RepoKinds = {
  0: ['All', () => true],
  20: ['Limited', ({ limitBytes }) => limitBytes !== null],
};
const kinds = new Map(
  Object.values<RepoKinds[number]>(
    Object.assign(ownKinds, ...subjectParts.map(({ repoKinds }) => repoKinds)),
  ),
);

/** All repos, read page after page: the figures have the largest 1,000, and not which are linked. */
function useRepos({ tenant, repos, reposTruncated, usage }: SubscriptionBody): Listed<RepoBody> {
  const { body: listed } = useList('GET /v1/tenants/{tenant}/repos', 'repos', {
    tenant,
    query: { weeks: true },
    pagesMax,
    key: `${usage?.scannedAt} ${repos.length}`,
  });
  return listed ?? { items: repos, isCut: reposTruncated === true };
}

const columnsOf = (own: NonNullable<SubjectParts['repoColumns']>): Column<RepoBody>[] =>
  Object.values(Object.assign(own, ...subjectParts.map(({ repoColumns }) => repoColumns)));

/** Repos to sort and search, the largest first. */
export function Repos({ tenant, session, address, body, mayManage, nowMs }: ViewProps) {
  const { items: repos, isCut } = useRepos(body);
  const totalBytes = body.usage?.storedBytes ?? null;
  const [order, setOrder] = useState<Order>({ column: 'storedBytes', isDown: true });
  const [wanted, setWanted] = useState('');
  const [kind, setKind] = useState('All');
  const { dialog, ask } = useDialog();
  const sorted = useMemo(() => sortRepos(repos, order), [repos, order]);
  const text = wanted.trim().toLowerCase();
  const found = sorted.filter(
    (repo) => kinds.get(kind)?.(repo) && nameOf(repo.repo).toLowerCase().includes(text),
  );
  const { shown, pager, toFirst } = usePages(found, rowsMax);
  const start =
    <Value,>(set: (value: Value) => void) =>
    (value: Value) => {
      set(value);
      toFirst();
    };
  const sort = (column: Order['column']) => {
    const isOwn = order.column === column;
    const isDown = isOwn ? !order.isDown : column !== 'repo';
    return {
      sort: { isDown: isOwn ? order.isDown : undefined, onSort: () => start(setOrder)({ column, isDown }) },
    };
  };
  const columns = repoColumns({ tenant, totalBytes, nowMs });
  return (
    <main>
      <Title
        address={address}
        note={repoSumText(repos, { totalBytes, isForSome: session.repos !== null, isTruncated: isCut })}
        action={mayManage && <Button text="New repo" onPress={() => ask(newRepo(tenant))} />}
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
          <Choice label="Which repos" values={[...kinds.keys()]} value={kind} onChoose={start(setKind)} />
          <CsvButton name="repos" tenant={tenant} rows={sorted.map(flat)} fields={csvFields} />
        </div>
        <Table
          kind="repos"
          columns={columnsOf({
            10: { ...columns.repo, ...sort('repo') },
            20: { ...columns.stored, ...sort('storedBytes') },
            30: columns.bar,
            40: columns.share,
            60: { ...columns.growth, ...sort('growth') },
            70: {
              name: 'Objects',
              kind: 'right wide',
              of: ({ objectCount }) => scanText(objectCount),
              ...sort('objectCount'),
            },
          })}
          rows={shown}
          keyOf={({ repo }) => repo}
        />
        {found.length === 0 && (
          <p class="soft">
            {repos.length === 0 ? 'No repos yet.' : 'No repo matches. Change the search or the filter.'}
          </p>
        )}
        {pager}
        <Cut isCut={isCut} count={repos.length} />
      </section>
      {dialog}
    </main>
  );
}

/** An empty one, and the way to it. */
const newRepo = (tenant: string): Question<'repo' | 'kind'> => ({
  title: 'New repo',
  action: 'Create',
  start: { repo: '', kind: 'lfs' },
  fields: () => [
    { name: 'repo', label: 'Name' },
    {
      name: 'kind',
      label: 'For',
      options: [
        ['lfs', 'Git LFS'],
        ['files', 'Any files'],
      ],
    },
  ],
  run: async ({ repo, kind }) => {
    if (!repoPattern.test(repo)) return nameRule;
    const to = () => go(repoAddress(tenant, repo));
    return change('POST /v1/tenants/{tenant}/repos', { tenant, body: { repo, kind: kind as 'lfs' } }, to);
  },
});
