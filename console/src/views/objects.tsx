import { useEffect, useMemo, useState } from 'preact/hooks';
import { formatAge, formatCount, formatObjects, formatUntil } from '../../../cli/render.ts';
import type { AnswerTo } from '../../../cli/routes.ts';
import { repoPattern } from '../../../lambda/core/rules/names.ts';
import type { DeletePlanBody, DeletionBody } from '../../../lambda/frame/contract/deletes.ts';
import type { ObjectBody } from '../../../lambda/frame/contract/objects.ts';
import { type Asked, askPages, type ItemOf } from '../api.ts';
import { objectKeyOf, sortObjects } from '../figures.ts';
import { go } from '../navigation.ts';
import { Button, Card, Choice, Code, CsvButton, Cut, Problem, Title } from '../parts.tsx';
import { change, useAnswer } from '../requests.ts';
import { bytesText } from '../text.ts';
import type { ViewProps } from '../view-props.ts';
import { Ask, Done } from './dialog.tsx';
import { usePages } from './pages.tsx';
import { type Column, Table } from './table.tsx';
import './objects.css';

/** So many are looked through without being asked. */
const unaskedMax = 5_000;
/** Pages of 1,000. Beyond that the command line is the better tool. */
const pagesMax = 200;

interface Where {
  readonly tenant: string;
  readonly objectCount: number;
  /** Another one after each count: what was marked may have been pushed again, or be gone. */
  readonly scannedAt: string;
  /** Those that the token is for. null: all. */
  readonly repos: readonly string[] | null;
}

type ListRoute = 'GET /v1/tenants/{tenant}/objects' | 'GET /v1/tenants/{tenant}/deletions';

/** Of each repo that may be asked for. What fails isn't asked for again by itself: it may be a lot. */
async function listEach<R extends ListRoute, Name extends keyof AnswerTo<R>>(
  { tenant, repos }: Where,
  route: R,
  name: Name,
  onSeen?: (count: number) => void,
) {
  const items: ItemOf<R, Name>[] = [];
  let [isCut, hasFailed] = [false, false];
  for (const repo of repos ?? [undefined]) {
    const asked: Asked<ListRoute> = { tenant, query: { repo } };
    const outcome = await askPages(route, name, {
      ...(asked as unknown as Asked<R>),
      pagesMax,
      onPage: (more) => onSeen?.(items.length + more.length),
    });
    if (outcome.kind === 'ok') items.push(...outcome.body.items);
    isCut ||= outcome.kind === 'ok' && outcome.body.isCut;
    hasFailed ||= outcome.kind !== 'ok';
  }
  return { kind: 'ok', body: { items, isCut, hasFailed } } as const;
}

const none = { items: [], isCut: false, hasFailed: false };

const keyOf = ({ tenant, repos }: Where) => `${tenant} ${repos?.join()}`;

/** All objects, as the store lists them: by name, so the largest and the oldest are known when all have been seen. */
function useObjects(where: Where) {
  const [isAsked, setIsAsked] = useState(false);
  const [seen, setSeen] = useState(0);
  const isWanted = isAsked || where.objectCount <= unaskedMax;
  const get = () => listEach(where, 'GET /v1/tenants/{tenant}/objects', 'objects', setSeen);
  const what = isWanted ? keyOf(where) : undefined;
  const { body: found } = useAnswer(what, get, { key: String(where.objectCount), isAside: true });
  return { found, seen, isWanted, look: () => setIsAsked(true) };
}

/** Those that are to go, whoever has asked for it. */
function useMarked(where: Where) {
  const get = () => listEach(where, 'GET /v1/tenants/{tenant}/deletions', 'deletions');
  const { body, read } = useAnswer(keyOf(where), get, { key: where.scannedAt, isAside: true });
  return { marked: body ?? none, readMarked: read };
}

const rowsMax = 12;
/** Each is deleted by a request of its own. */
const chosenMax = 100;

const orders = ['largest', 'oldest', 'deleting'] as const;
const orderText = { largest: 'Largest', oldest: 'Oldest', deleting: 'Deleting' } as const;

const lastOf = (plans: readonly { dueAt: string }[]) =>
  plans
    .map(({ dueAt }) => dueAt)
    .sort()
    .at(-1) ?? '';

const bytesOf = (rows: readonly { sizeBytes: number }[]) =>
  rows.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

type ChosenRow = Pick<ObjectBody, 'repo' | 'oid' | 'sizeBytes'>;
type Row = ChosenRow & Partial<ObjectBody & DeletionBody>;

/** What a delete would free most by, what has been stored longest, and what is deleted soon: to choose from. */
export function ObjectTable(props: ViewProps & Where) {
  const { tenant, repos, objectCount, address, mayManage, nowMs } = props;
  const by = orders.find((each) => each === address.query['by']) ?? 'largest';
  const { found, seen, isWanted, look } = useObjects(props);
  const { marked, readMarked } = useMarked(props);
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
  const stateOf = (row: Row): RowState => {
    return { dueAt: dueAts.get(objectKeyOf(row)), isChosen: chosen.has(objectKeyOf(row)) };
  };
  return (
    <>
      <div class="head">
        <Choice
          label="Which objects"
          values={orders}
          textOf={(each) => orderText[each]}
          value={by}
          onChoose={(next) => {
            toFirst();
            go({ ...address, query: { ...address.query, by: next } });
          }}
        />
        <CsvButton
          name="objects"
          tenant={tenant}
          rows={rows}
          fields={['repo', 'oid', 'sizeBytes', by === 'deleting' ? 'dueAt' : 'storedAt']}
        />
      </div>
      {!listed && (
        <div class="room">
          {isWanted ? (
            <p class="soft" role="status">
              Listing{seen ? `: ${formatObjects(seen)} so far` : '…'}
            </p>
          ) : (
            <>
              <p class="soft">
                To find the largest and the oldest, all {formatObjects(objectCount)} must be listed.
              </p>
              <Button text="List them" onPress={look} />
            </>
          )}
        </div>
      )}
      {rows.length > 0 && (
        <Table
          columns={columnsOf(
            hasRepo,
            nowMs,
            stateOf,
            mayManage ? { chosen, onChosen: setChosen } : undefined,
          )}
          rows={shown}
          keyOf={objectKeyOf}
          rowKind={(row) => (stateOf(row).isChosen ? 'is-chosen' : '')}
        />
      )}
      {listed?.hasFailed && <p class="soft">Couldn't list all objects. Reload the page.</p>}
      {listed && rows.length === 0 && !listed.hasFailed && <p class="soft">None.</p>}
      {pager}
      {listed && <Cut isCut={listed.isCut} count={rows.length} />}
      <Chosen tenant={tenant} chosen={chosen} onChosen={setChosen} onMarked={readMarked} nowMs={nowMs} />
    </>
  );
}

/** A box to choose an object of a list by. */
export function Choose<T extends { readonly oid: string }>(props: {
  name: string;
  row: T;
  keyOf?: (row: T) => string;
  chosen: ReadonlyMap<string, T>;
  /** It can't be chosen, such as because it's deleted. */
  isFixed: boolean;
  onChosen: (chosen: ReadonlyMap<string, T>) => void;
}) {
  const { name, row, keyOf = ({ oid }: T) => oid, chosen, isFixed, onChosen } = props;
  const key = keyOf(row);
  const choose = (isChosen: boolean) => {
    const next = new Map(chosen);
    if (isChosen) next.set(key, row);
    else next.delete(key);
    onChosen(next);
  };
  return (
    <input
      type="checkbox"
      aria-label={`Choose ${name}`}
      checked={chosen.has(key)}
      disabled={isFixed || (chosen.size >= chosenMax && !chosen.has(key))}
      onChange={({ currentTarget }) => choose(currentTarget.checked)}
    />
  );
}

/** What was chosen, what it would free, and the way to delete it. */
export function Chosen<T extends ChosenRow>(props: {
  tenant: string;
  chosen: ReadonlyMap<string, T>;
  onChosen: (chosen: ReadonlyMap<string, T>) => void;
  onMarked: () => void;
  /** Why the name of the repo must be typed. */
  inUse?: { readonly repo: string; readonly text: string };
  nowMs: number;
}) {
  const { tenant, chosen, onChosen, onMarked, inUse, nowMs } = props;
  const [isAsking, setIsAsking] = useState(false);
  const [said, setSaid] = useState('');
  const rows = [...chosen.values()];
  const mark = (plans: readonly DeletePlanBody[]) => {
    onMarked();
    onChosen(new Map([...chosen].slice(plans.length)));
    if (plans.length < chosen.size) return;
    const when = formatUntil(lastOf(plans), nowMs);
    setSaid(`Deletes ${formatObjects(plans.length)} ${when}, which frees ${bytesText(bytesOf(rows))}.`);
  };
  return (
    <>
      <Done text={chosen.size === 0 ? said : ''} />
      {chosen.size > 0 && (
        <div class="row chosen">
          <p role="status">
            <strong>{formatObjects(chosen.size)}</strong>, frees {bytesText(bytesOf(rows))}
          </p>
          <Button text="Clear" kind="quiet" onPress={() => onChosen(new Map())} />
          <Button text="Delete…" kind="bad" onPress={() => setIsAsking(true)} />
        </div>
      )}
      {isAsking && (
        <DeleteObjects
          tenant={tenant}
          rows={rows}
          inUse={inUse}
          nowMs={nowMs}
          onClose={() => setIsAsking(false)}
          onMarked={mark}
        />
      )}
    </>
  );
}

interface RowState {
  /** When it's deleted. undefined: it stays. */
  readonly dueAt: string | undefined;
  readonly isChosen: boolean;
}

/** @param choose undefined: nothing can be chosen. */
function columnsOf(
  hasRepo: boolean,
  nowMs: number,
  stateOf: (row: Row) => RowState,
  choose:
    | { chosen: ReadonlyMap<string, Row>; onChosen: (chosen: ReadonlyMap<string, Row>) => void }
    | undefined,
): Column<Row>[] {
  const ageOf = ({ storedAt }: Row) => (storedAt ? formatAge(storedAt, nowMs) : '–');
  const nameOf = (row: Row) => {
    const { dueAt } = stateOf(row);
    const short = row.oid.slice(0, 12);
    return (
      <>
        {choose && (
          <Choose {...choose} name={short} row={row} keyOf={objectKeyOf} isFixed={dueAt !== undefined} />
        )}{' '}
        <code title={row.oid}>{short}…</code>
        {dueAt !== undefined && <span class="pill">deleted {formatUntil(dueAt, nowMs)}</span>}
        <p class="note narrow">
          {hasRepo && `${row.repo} · `}
          {ageOf(row)}
        </p>
      </>
    );
  };
  return [
    { name: 'Object', of: nameOf },
    ...(hasRepo ? [{ name: 'Repo', kind: 'middle', of: ({ repo }: Row) => repo }] : []),
    { name: 'Stored', kind: 'wide soft', of: ageOf },
    { name: choose ? 'Frees' : 'Size', kind: 'right strong', of: ({ sizeBytes }) => bytesText(sizeBytes) },
  ];
}

/** Says what a delete would free and when, and asks. */
function DeleteObjects(props: {
  tenant: string;
  rows: readonly ChosenRow[];
  inUse: { readonly repo: string; readonly text: string } | undefined;
  nowMs: number;
  onClose: () => void;
  /** With the first ones, whose delete has started: the others can be tried again. */
  onMarked: (plans: readonly DeletePlanBody[]) => void;
}) {
  const { tenant, rows, inUse, nowMs, onClose, onMarked } = props;
  const [plans, setPlans] = useState<readonly DeletePlanBody[]>([]);
  const [refusal, setRefusal] = useState<string>();
  /** One request each, until one is refused. */
  const request = async (dryRun: true | undefined) => {
    const done: DeletePlanBody[] = [];
    for (const { repo, oid } of rows) {
      const asked = { tenant, repo, oid, query: { dryRun } };
      const problem = await change('DELETE /v1/tenants/{tenant}/repos/{repo}/objects/{oid}', asked, (plan) =>
        done.push(plan),
      );
      if (problem !== undefined) return { done, problem };
    }
    return { done, problem: undefined };
  };
  useEffect(() => {
    void request(true).then(({ done, problem }) => {
      setPlans(done);
      setRefusal(problem);
    });
  }, []);
  const start = async () => {
    const { done, problem } = await request(undefined);
    onMarked(done);
    return problem;
  };
  const last = lastOf(plans);
  return (
    <Ask
      title="Delete from storage?"
      action={`Delete ${formatCount(rows.length)}`}
      text={
        <>
          <p>
            Frees {bytesText(bytesOf(rows))} {last && formatUntil(last, nowMs)}
            {plans.some(({ waitsFor }) => waitsFor) && ', when uploads expire'}: {formatObjects(rows.length)}.
          </p>
          <p>
            Clones and checkouts that need one of them fail then. To keep an object, push it again before.
          </p>
          {inUse && <p>{inUse.text}</p>}
          <Problem text={refusal} />
        </>
      }
      {...(inUse && { start: { typed: '' }, fields: () => [{ name: 'typed', label: `Type ${inUse.repo}` }] })}
      isReady={({ typed }) => plans.length >= rows.length && typed === inUse?.repo}
      run={start}
      onClose={onClose}
    />
  );
}

/** Objects of the tenant, or of the repo that the address names. */
export function Objects(props: ViewProps) {
  const { session, address, body } = props;
  const repos = body.repos.filter(({ repo }) => repoPattern.test(repo));
  const repo = repos.find((each) => each.repo === address.query['repo']);
  return (
    <main>
      <Title
        address={address}
        note={body.usage && `${formatObjects(body.usage.objectCount)}, ${bytesText(body.usage.storedBytes)}`}
      />
      <section class="card" aria-label="Objects">
        <select
          aria-label="Repo"
          value={repo?.repo ?? ''}
          onChange={({ currentTarget }) =>
            go({ ...address, query: { ...address.query, repo: currentTarget.value } })
          }
        >
          <option value="">All repos</option>
          {repos.map((each) => (
            <option key={each.repo}>{each.repo}</option>
          ))}
        </select>
        <ObjectTable
          key={repo?.repo}
          {...props}
          repos={repo ? [repo.repo] : session.repos}
          objectCount={(repo ? repo.objectCount : body.usage?.objectCount) ?? 0}
          scannedAt={body.usage?.scannedAt ?? ''}
        />
      </section>
      <Card title="Which files?">
        <p>Objects are stored by hash, without file names. In a clone, this lists paths and sizes:</p>
        <Code name="sizes by path" text="lfs-quota du --git" />
      </Card>
    </main>
  );
}
