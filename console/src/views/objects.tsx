import { useEffect, useMemo, useState } from 'preact/hooks';
import { formatAge, formatCount, formatObjects, formatUntil } from '../../../cli/render.ts';
import type { DeletePlanBody, DeletionBody } from '../../../lambda/api/contract/deletes.ts';
import type { ObjectBody } from '../../../lambda/api/contract/objects.ts';
import { repoPattern } from '../../../lambda/rules/names.ts';
import type { Address } from '../address.ts';
import { objectKeyOf, sortObjects } from '../figures.ts';
import { go } from '../navigation.ts';
import { Card, Choice, Code, CsvButton, Cut, Problem, Title } from '../parts.tsx';
import { change } from '../requests.ts';
import { bytesText } from '../text.ts';
import type { ViewProps } from '../view-props.ts';
import { Confirm, Done } from './dialog.tsx';
import { useMarked, useObjects, type Where } from './objects-list.ts';
import { usePages } from './pager.tsx';
import { TableHead } from './table-head.tsx';

const rowsMax = 12;
/** Each is deleted by a request of its own. */
const chosenMax = 100;

const orders = ['largest', 'oldest', 'deleting'] as const;
type ObjectOrder = (typeof orders)[number];
const orderText = { largest: 'Largest', oldest: 'Oldest', deleting: 'Deleting' } as const;

const lastOf = (plans: readonly { dueAt: string }[]) =>
  plans
    .map(({ dueAt }) => dueAt)
    .sort()
    .at(-1) ?? '';

const bytesOf = (rows: readonly { sizeBytes: number }[]) =>
  rows.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

type Row = Pick<ObjectBody, 'repo' | 'oid' | 'sizeBytes'> & Partial<ObjectBody & DeletionBody>;

/** What a delete would free most by, what has been stored longest, and what is deleted soon: to choose from. */
export function ObjectTable(
  props: Where & {
    by: ObjectOrder;
    onBy: (by: ObjectOrder) => void;
    mayDelete: boolean;
    nowMs: number;
  },
) {
  const { tenant, repos, objectCount, by, onBy, mayDelete, nowMs } = props;
  const { found, seen, isUnasked, look } = useObjects(props);
  const { marked, add } = useMarked(props);
  const [chosen, setChosen] = useState<ReadonlyMap<string, Row>>(new Map());
  const rows: readonly Row[] = useMemo(
    () =>
      by === 'deleting'
        ? [...marked.items].sort((a, b) => (a.dueAt < b.dueAt ? -1 : 1))
        : sortObjects(found?.items ?? [], by),
    [by, marked.items, found],
  );
  const listed = by === 'deleting' ? marked : found;
  const { shown, pager, toFirst } = usePages(rows, rowsMax);
  const dueAts = new Map(marked.items.map((deletion) => [objectKeyOf(deletion), deletion.dueAt]));
  const hasRepo = repos?.length !== 1;
  const choose = (row: Row, isChosen: boolean) => {
    const next = new Map(chosen);
    if (isChosen) next.set(objectKeyOf(row), row);
    else next.delete(objectKeyOf(row));
    setChosen(next);
  };
  return (
    <>
      <div class="head">
        <Choice
          name="objects"
          label="Which objects"
          values={orders}
          textOf={(each) => orderText[each]}
          value={by}
          onChoose={(next) => {
            toFirst();
            onBy(next);
          }}
        />
        <div class="end">
          <CsvButton
            name="objects"
            tenant={tenant}
            rows={rows}
            fields={['repo', 'oid', 'sizeBytes', by === 'deleting' ? 'dueAt' : 'storedAt']}
          />
        </div>
      </div>
      {!listed && <NotListed objectCount={objectCount} seen={seen} isUnasked={isUnasked} onLook={look} />}
      {rows.length > 0 && (
        <table>
          <TableHead
            columns={[
              ['Object'],
              ...(hasRepo ? ([['Repo', 'middle']] as const) : []),
              ['Stored', 'wide'],
              [mayDelete ? 'Frees' : 'Size', 'right'],
            ]}
          />
          <tbody>
            {shown.map((row) => (
              <ObjectRow
                key={objectKeyOf(row)}
                row={row}
                hasRepo={hasRepo}
                dueAt={dueAts.get(objectKeyOf(row))}
                isChosen={chosen.has(objectKeyOf(row))}
                isFull={chosen.size >= chosenMax}
                onChoose={mayDelete ? (isChosen) => choose(row, isChosen) : undefined}
                nowMs={nowMs}
              />
            ))}
          </tbody>
        </table>
      )}
      {listed?.hasFailed && <p class="soft">Couldn't list all objects. Reload the page.</p>}
      {listed && rows.length === 0 && !listed.hasFailed && <p class="soft">None.</p>}
      {pager}
      {listed && <Cut isCut={listed.isCut} count={rows.length} />}
      <Chosen tenant={tenant} chosen={chosen} onChosen={setChosen} onMarked={add} nowMs={nowMs} />
    </>
  );
}

/** What was chosen, what it would free, and the way to delete it. */
function Chosen(props: {
  tenant: string;
  chosen: ReadonlyMap<string, Row>;
  onChosen: (chosen: ReadonlyMap<string, Row>) => void;
  onMarked: (deletions: readonly DeletionBody[]) => void;
  nowMs: number;
}) {
  const { tenant, chosen, onChosen, onMarked, nowMs } = props;
  const [isAsking, setIsAsking] = useState(false);
  const [said, setSaid] = useState('');
  const rows = [...chosen.values()];
  const mark = (deletions: readonly DeletionBody[]) => {
    onMarked(deletions);
    const left = new Map(chosen);
    for (const deletion of deletions) left.delete(objectKeyOf(deletion));
    onChosen(left);
    if (left.size > 0) return;
    setIsAsking(false);
    const when = formatUntil(lastOf(deletions), nowMs);
    setSaid(
      `Deletes ${formatObjects(deletions.length)} ${when}, which frees ${bytesText(bytesOf(deletions))}.`,
    );
  };
  return (
    <>
      <Done text={chosen.size === 0 ? said : ''} />
      {chosen.size > 0 && (
        <div class="chosen">
          <p role="status">
            <strong>{formatObjects(chosen.size)}</strong>, frees {bytesText(bytesOf(rows))}
          </p>
          <button type="button" class="quiet" onClick={() => onChosen(new Map())}>
            Clear
          </button>
          <button type="button" class="bad" onClick={() => setIsAsking(true)}>
            Delete…
          </button>
        </div>
      )}
      {isAsking && (
        <DeleteObjects
          tenant={tenant}
          rows={rows}
          nowMs={nowMs}
          onClose={() => setIsAsking(false)}
          onMarked={mark}
        />
      )}
    </>
  );
}

function ObjectRow(props: {
  row: Row;
  hasRepo: boolean;
  /** When it's deleted. undefined: it stays. */
  dueAt: string | undefined;
  isChosen: boolean;
  /** No more can be chosen. */
  isFull: boolean;
  /** undefined: nothing can be. */
  onChoose: ((isChosen: boolean) => void) | undefined;
  nowMs: number;
}) {
  const { row, hasRepo, dueAt, isChosen, isFull, onChoose, nowMs } = props;
  const { repo, oid, sizeBytes, storedAt } = row;
  const age = storedAt ? formatAge(storedAt, nowMs) : '–';
  return (
    <tr class={isChosen ? 'is-chosen' : ''}>
      <th scope="row">
        {onChoose && (
          <input
            type="checkbox"
            aria-label={`Choose ${oid.slice(0, 12)}`}
            checked={isChosen}
            disabled={dueAt !== undefined || (isFull && !isChosen)}
            onChange={({ currentTarget }) => onChoose(currentTarget.checked)}
          />
        )}{' '}
        <code title={oid}>{oid.slice(0, 12)}…</code>
        {dueAt !== undefined && <span class="pill">deleted {formatUntil(dueAt, nowMs)}</span>}
        <p class="note narrow">
          {hasRepo && `${repo} · `}
          {age}
        </p>
      </th>
      {hasRepo && <td class="middle">{repo}</td>}
      <td class="wide soft">{age}</td>
      <td class="right strong">{bytesText(sizeBytes)}</td>
    </tr>
  );
}

/** Says what a delete would free and when, and asks. */
function DeleteObjects(props: {
  tenant: string;
  rows: readonly Row[];
  nowMs: number;
  onClose: () => void;
  /** Those whose delete has started: the others can be tried again. */
  onMarked: (deletions: readonly DeletionBody[]) => void;
}) {
  const { tenant, rows, nowMs, onClose, onMarked } = props;
  const [plans, setPlans] = useState<readonly DeletePlanBody[]>([]);
  const [refusal, setRefusal] = useState<string>();
  /** One request each, until one is refused. */
  const request = async (query: string) => {
    const done: DeletePlanBody[] = [];
    for (const { repo, oid } of rows) {
      const path = `/v1/tenants/${tenant}/repos/${encodeURIComponent(repo)}/objects/${oid}${query}`;
      const { body, problem } = await change<DeletePlanBody>(path, { method: 'DELETE' });
      if (!body) return { done, problem };
      done.push(body);
    }
    return { done, problem: undefined };
  };
  useEffect(() => {
    void request('?dryRun=true').then(({ done, problem }) => {
      setPlans(done);
      setRefusal(problem);
    });
  }, []);
  const start = async () => {
    const { done, problem } = await request('');
    onMarked(
      rows.slice(0, done.length).map(({ repo, oid, sizeBytes }, index) => ({
        repo,
        oid,
        sizeBytes,
        state: 'scheduled',
        dueAt: done[index]?.dueAt ?? '',
      })),
    );
    return problem;
  };
  const last = lastOf(plans);
  return (
    <Confirm
      title="Delete from storage?"
      action={`Delete ${formatCount(rows.length)}`}
      isReady={plans.length === rows.length}
      run={start}
      onClose={onClose}
    >
      <p>
        Frees {bytesText(bytesOf(rows))} {last && formatUntil(last, nowMs)}
        {plans.some(({ waitsFor }) => waitsFor) && ', when uploads expire'}: {formatObjects(rows.length)}.
      </p>
      <p>Clones and checkouts that need one of them fail then. To keep an object, push it again before.</p>
      <Problem text={refusal} />
    </Confirm>
  );
}

function NotListed(props: {
  objectCount: number;
  seen: number | undefined;
  isUnasked: boolean;
  onLook: () => void;
}) {
  const { objectCount, seen, isUnasked, onLook } = props;
  return (
    <div class="room">
      {seen === undefined && !isUnasked ? (
        <>
          <p class="soft">
            To find the largest and the oldest, all {formatObjects(objectCount)} must be listed.
          </p>
          <button type="button" onClick={onLook}>
            List them
          </button>
        </>
      ) : (
        <p class="soft" role="status">
          Listing{seen ? `: ${formatObjects(seen)} so far` : '…'}
        </p>
      )}
    </div>
  );
}

/** The order that an address has. */
export const orderOf = ({ query }: Address): ObjectOrder =>
  orders.find((each) => each === query['by']) ?? 'largest';

/** Objects of the tenant, or of the repo that the address names. */
export function Objects({ tenant, session, address, body, mayManage, nowMs }: ViewProps) {
  const repos = body.repos.filter(({ repo }) => repoPattern.test(repo));
  const repo = repos.find((each) => each.repo === address.query['repo']);
  const by = orderOf(address);
  const filter = (query: Address['query']) => go({ ...address, query: { ...address.query, ...query } });
  return (
    <main>
      <Title
        address={address}
        note={
          body.usage && (
            <p class="note">
              {formatObjects(body.usage.objectCount)}, {bytesText(body.usage.storedBytes)}
            </p>
          )
        }
      />
      <section class="card" aria-label="Objects">
        <select
          aria-label="Repo"
          value={repo?.repo ?? ''}
          onChange={({ currentTarget }) => filter({ repo: currentTarget.value })}
        >
          <option value="">All repos</option>
          {repos.map((each) => (
            <option key={each.repo}>{each.repo}</option>
          ))}
        </select>
        <ObjectTable
          key={repo?.repo}
          tenant={tenant}
          repos={repo ? [repo.repo] : session.repos}
          objectCount={(repo ? repo.objectCount : body.usage?.objectCount) ?? 0}
          scannedAt={body.usage?.scannedAt ?? ''}
          by={by}
          onBy={(next) => filter({ by: next })}
          mayDelete={mayManage}
          nowMs={nowMs}
        />
      </section>
      <Card title="Which files?">
        <p>Objects are stored by hash, without file names. In a clone, this lists paths and sizes:</p>
        <Code name="sizes by path" text="lfs-quota du --git" />
      </Card>
    </main>
  );
}
