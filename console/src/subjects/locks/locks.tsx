import { useState } from 'preact/hooks';
import { formatAge } from '../../../../cli/render.ts';
import type { FileLockBody } from '../../../../lambda/subjects/locks/contract.ts';
import type { Asked } from '../../api.ts';
import { Button, Problem } from '../../parts.tsx';
import { change, useRead } from '../../requests.ts';
import type { RepoProps, SubjectParts } from '../../view-props.ts';
import { Done, useDialog } from '../../views/dialog.tsx';
import { Pager } from '../../views/pages.tsx';
import { actColumn, type Column, Table } from '../../views/table.tsx';

const rowsMax = 20;

/** The file locks of a repo, a page of the server's at a time: their order is none. */
function Locks({ tenant, repo: { repo }, mayManage, nowMs }: RepoProps) {
  const [filter, setFilter] = useState<{ file?: string; owner?: string }>({});
  /** Where the pages before this one began. */
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const { dialog, ask } = useDialog();
  const [said, setSaid] = useState('');
  const query = { limit: rowsMax, path: filter.file, owner: filter.owner, cursor: cursors.at(-1) };
  const asked = { tenant, repo, query };
  const { body, refusal, read } = useRead('GET /v1/tenants/{tenant}/repos/{repo}/locks', asked);
  const only = (next: typeof filter) => {
    setFilter(next);
    setCursors([]);
  };
  const locks = body?.locks ?? [];
  const next = body?.nextCursor ?? null;
  const isFiltered = filter.file !== undefined || filter.owner !== undefined;
  const ofOwner = mayManage ? locks.find(({ owner }) => owner === filter.owner) : undefined;
  const release = (title: string, what: string, { ownerName }: FileLockBody, of: Which) =>
    ask({
      title,
      action: 'Release',
      text: (
        <>
          <p>{what}</p>
          <p>{ownerName} isn't notified, and can still have unpushed changes. Ask first if you can.</p>
        </>
      ),
      run: () =>
        releaseAll({ tenant, repo, query: of }, (count) => {
          setSaid(count === 1 ? 'Released 1 lock.' : `Released ${count} locks.`);
          only({});
          read();
        }),
    });
  const releaseOne = (lock: FileLockBody) =>
    release('Release this lock?', lock.path, lock, { path: lock.path });
  const releaseOwner = (lock: FileLockBody) => {
    const what = `Every file that ${lock.ownerName} has locked in this repo.`;
    release('Release all locks?', what, lock, { owner: lock.owner });
  };
  const columns: Column<FileLockBody>[] = [
    { name: 'File', of: (lock) => lock.path },
    {
      name: 'Owner',
      of: ({ owner, ownerName }) => <Button text={ownerName} kind="text" onPress={() => only({ owner })} />,
    },
    { name: 'Locked', kind: 'right wide soft', of: ({ lockedAt }) => formatAge(lockedAt, nowMs) },
    ...(mayManage ? [actColumn<FileLockBody>('Release', (lock) => lock.path, releaseOne)] : []),
  ];
  return (
    <section class="card" aria-label="Locks">
      <div class="head">
        <FindFile onFind={(file) => only(file === '' ? {} : { file })} />
        {isFiltered && <Button text="Show all" kind="quiet" onPress={() => only({})} />}
        {ofOwner && <Button text="Release all" kind="bad" onPress={() => releaseOwner(ofOwner)} />}
      </div>
      <Done text={said} />
      <Problem text={refusal} />
      {locks.length > 0 && <Table columns={columns} rows={locks} keyOf={({ id }) => id} />}
      {body && locks.length === 0 && (
        <p class="soft">{isFiltered ? 'No lock matches. Show all.' : 'No file is locked.'}</p>
      )}
      <Pager
        before={cursors.length * rowsMax}
        shown={locks.length}
        hasMore={next !== null}
        onPage={(step) => setCursors(step === 1 && next !== null ? [...cursors, next] : cursors.slice(0, -1))}
      />
      {dialog}
    </section>
  );
}

type Which = { path: string } | { owner: string };
type Released = Asked<'DELETE /v1/tenants/{tenant}/repos/{repo}/locks'>;

/** Releases as many as there are, some at a time. */
async function releaseAll(asked: Released, then: (count: number) => void): Promise<string | undefined> {
  let count = 0;
  for (let hasMore = true; hasMore; ) {
    const problem = await change('DELETE /v1/tenants/{tenant}/repos/{repo}/locks', asked, (body) => {
      count += body.releasedCount;
      hasMore = body.hasMore;
    });
    if (problem !== undefined) return problem;
  }
  then(count);
  return undefined;
}

function FindFile({ onFind }: { onFind: (file: string) => void }) {
  const [typed, setTyped] = useState('');
  const find = (event: Event) => {
    event.preventDefault();
    onFind(typed.trim());
  };
  return (
    <form class="row size" onSubmit={find}>
      <input
        type="search"
        aria-label="Find a file"
        placeholder="File path"
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      <button type="submit">Find</button>
    </form>
  );
}

export const locks: SubjectParts = { tabs: { locks: Locks } };
