import { useState } from 'preact/hooks';
import { formatAge } from '../../../../cli/render.ts';
import type { FileLockBody } from '../../../../lambda/subjects/locks/contract.ts';
import type { Asked } from '../../api.ts';
import { Button, Problem } from '../../parts.tsx';
import { change, useRead } from '../../requests.ts';
import type { RepoProps, SubjectParts } from '../../view-props.ts';
import { Done, useDialog } from '../../views/dialog.tsx';
import { Find, useCursors } from '../../views/pages.tsx';
import { actColumn, type Column, Table } from '../../views/table.tsx';

const rowsMax = 20;

/** The file locks of a repo, a page of the server's at a time: their order is none. */
function Locks({ tenant, repo: { repo }, mayManage, nowMs }: RepoProps) {
  const [filter, setFilter] = useState<{ file?: string | undefined; owner?: string }>({});
  const { page, toFirst, pagerOf } = useCursors(rowsMax);
  const { dialog, ask } = useDialog();
  const [said, setSaid] = useState('');
  const query = { ...page, path: filter.file, owner: filter.owner };
  const asked = { tenant, repo, query };
  const { body, refusal, read } = useRead('GET /v1/tenants/{tenant}/repos/{repo}/locks', asked);
  const only = (next: typeof filter) => {
    setFilter(next);
    toFirst();
  };
  const locks = body?.locks ?? [];
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
        <Find
          label="Find a file"
          placeholder="File path"
          onFind={(text) => only({ file: text.trim() || undefined })}
        />
        {isFiltered && <Button text="Show all" kind="quiet" onPress={() => only({})} />}
        {ofOwner && <Button text="Release all" kind="bad" onPress={() => releaseOwner(ofOwner)} />}
      </div>
      <Done text={said} />
      <Problem text={refusal} />
      {locks.length > 0 && <Table columns={columns} rows={locks} keyOf={({ id }) => id} />}
      {body && locks.length === 0 && (
        <p class="soft">{isFiltered ? 'No lock matches. Show all.' : 'No file is locked.'}</p>
      )}
      {pagerOf(locks.length, body?.nextCursor)}
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

export const locks: SubjectParts = { tabs: { locks: Locks } };
