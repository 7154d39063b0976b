import { useState } from 'preact/hooks';
import { formatAge } from '../../../cli/render.ts';
import type { FileLockBody } from '../../../lambda/api/contract/locks.ts';
import { Problem } from '../parts.tsx';
import { change, useRead } from '../requests.ts';
import { Confirm, Done } from './dialog.tsx';
import { Pager } from './pager.tsx';
import { TableHead } from './table-head.tsx';

const rowsMax = 20;

/** What is to be released: one lock, or all of an owner. */
type Release = { readonly lock: FileLockBody } | { readonly owner: string; readonly name: string };

/** The file locks of a repo, a page of the server's at a time: their order is none. */
export function Locks(props: { path: string; mayRelease: boolean; nowMs: number }) {
  const { path, mayRelease, nowMs } = props;
  const [filter, setFilter] = useState<{ file?: string; owner?: string }>({});
  /** Where the pages before this one began. */
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [asked, setAsked] = useState<Release>();
  const [said, setSaid] = useState('');
  const query = new URLSearchParams({
    limit: String(rowsMax),
    ...(filter.file && { path: filter.file }),
    ...(filter.owner && { owner: filter.owner }),
    ...(cursors.length > 0 && { cursor: cursors.at(-1) ?? '' }),
  });
  const { body, refusal, read } = useRead<{ locks: FileLockBody[]; nextCursor: string | null }>(
    `${path}/locks?${query}`,
  );
  const only = (next: typeof filter) => {
    setFilter(next);
    setCursors([]);
  };
  const locks = body?.locks ?? [];
  const next = body?.nextCursor ?? null;
  const isFiltered = filter.file !== undefined || filter.owner !== undefined;
  const ownerName = locks.find(({ owner }) => owner === filter.owner)?.ownerName;
  return (
    <section class="card" aria-label="Locks">
      <div class="head">
        <FindFile onFind={(file) => only(file === '' ? {} : { file })} />
        {isFiltered && (
          <button type="button" class="quiet" onClick={() => only({})}>
            Show all
          </button>
        )}
        {mayRelease && filter.owner !== undefined && ownerName !== undefined && (
          <button
            type="button"
            class="bad"
            onClick={() => setAsked({ owner: filter.owner ?? '', name: ownerName })}
          >
            Release all
          </button>
        )}
      </div>
      <Done text={said} />
      <Problem text={refusal} />
      {locks.length > 0 && (
        <LockTable
          locks={locks}
          nowMs={nowMs}
          onOwner={(owner) => only({ owner })}
          onRelease={mayRelease ? (lock) => setAsked({ lock }) : undefined}
        />
      )}
      {body && locks.length === 0 && (
        <p class="soft">{isFiltered ? 'No lock matches. Show all.' : 'No file is locked.'}</p>
      )}
      <Pager
        before={cursors.length * rowsMax}
        shown={locks.length}
        hasMore={next !== null}
        onPage={(step) => setCursors(step === 1 && next !== null ? [...cursors, next] : cursors.slice(0, -1))}
      />
      {asked && (
        <ReleaseLocks
          path={path}
          asked={asked}
          onClose={() => setAsked(undefined)}
          onReleased={(count) => {
            setAsked(undefined);
            setSaid(count === 1 ? 'Released 1 lock.' : `Released ${count} locks.`);
            only({});
            read();
          }}
        />
      )}
    </section>
  );
}

function FindFile({ onFind }: { onFind: (file: string) => void }) {
  const [typed, setTyped] = useState('');
  const find = (event: Event) => {
    event.preventDefault();
    onFind(typed.trim());
  };
  return (
    <form class="size" onSubmit={find}>
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

function LockTable(props: {
  locks: readonly FileLockBody[];
  nowMs: number;
  onOwner: (owner: string) => void;
  /** undefined: it isn't allowed. */
  onRelease: ((lock: FileLockBody) => void) | undefined;
}) {
  const { locks, nowMs, onOwner, onRelease } = props;
  return (
    <table>
      <TableHead
        columns={[
          ['File'],
          ['Owner'],
          ['Locked', 'right wide'],
          ...(onRelease ? ([['Release', 'act']] as const) : []),
        ]}
      />
      <tbody>
        {locks.map((lock) => (
          <tr key={lock.id}>
            <th scope="row">{lock.path}</th>
            <td>
              <button type="button" class="text" onClick={() => onOwner(lock.owner)}>
                {lock.ownerName}
              </button>
            </td>
            <td class="right wide soft">{formatAge(lock.lockedAt, nowMs)}</td>
            {onRelease && (
              <td class="right act">
                <button
                  type="button"
                  class="quiet"
                  aria-label={`Release ${lock.path}`}
                  onClick={() => onRelease(lock)}
                >
                  Release
                </button>
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function ReleaseLocks(props: {
  path: string;
  asked: Release;
  onClose: () => void;
  onReleased: (count: number) => void;
}) {
  const { path, asked, onClose, onReleased } = props;
  const query = new URLSearchParams('lock' in asked ? { path: asked.lock.path } : { owner: asked.owner });
  const release = async (): Promise<string | undefined> => {
    for (let count = 0; ; ) {
      const { body, problem } = await change<{ releasedCount: number; hasMore: boolean }>(
        `${path}/locks?${query}`,
        { method: 'DELETE' },
      );
      if (!body) return problem;
      count += body.releasedCount;
      if (body.hasMore) continue;
      onReleased(count);
      return undefined;
    }
  };
  const name = 'lock' in asked ? asked.lock.ownerName : asked.name;
  return (
    <Confirm
      title={'lock' in asked ? 'Release this lock?' : 'Release all locks?'}
      action="Release"
      run={release}
      onClose={onClose}
    >
      <p>{'lock' in asked ? asked.lock.path : `Every file that ${name} has locked in this repo.`}</p>
      <p>{name} isn't notified, and can still have unpushed changes. Ask first if you can.</p>
    </Confirm>
  );
}
