import type { Ref } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatAge, formatObjects, formatUntil } from '../../../cli/render.ts';
import type { DeletePlanBody, DeletionBody } from '../../../lambda/api/contract/deletes.ts';
import type { ObjectBody } from '../../../lambda/api/contract/objects.ts';
import type { Address } from '../address.ts';
import { ask, askPages } from '../api.ts';
import { objectKeyOf, sortObjects } from '../figures.ts';
import { go } from '../navigation.ts';
import { Card, Choice, CsvButton, Cut, Problem, Title } from '../parts.tsx';
import { bytesText, notDone } from '../text.ts';
import type { ViewProps } from '../view-props.ts';

/** What is known of a delete: what it would do, or that it was refused. */
type Delete =
  | { readonly kind: 'none' }
  | { readonly kind: 'sure'; readonly plan: DeletePlanBody }
  | { readonly kind: 'refused'; readonly detail: string };

/** One object; and its delete in two steps, of which the first tells what the second would do. */
function ObjectRow(props: {
  tenant: string;
  object: Pick<ObjectBody, 'repo' | 'oid' | 'sizeBytes'>;
  /** When it was stored. Empty: the store does not say. */
  age: string;
  /** When it goes. undefined: it is not marked. */
  dueAt: string | undefined;
  onMarked: (dueAt: string) => void;
  mayDelete: boolean;
  nowMs: number;
}) {
  const { tenant, object, age, dueAt, onMarked, mayDelete, nowMs } = props;
  const { repo, oid, sizeBytes } = object;
  const [state, setState] = useState<Delete>({ kind: 'none' });
  const result = useRef<HTMLElement>(null);
  const isAnswered = useRef(false);
  // What was pressed is gone: the keyboard goes on with what came of it.
  useLayoutEffect(() => {
    if (isAnswered.current && state.kind !== 'sure') result.current?.focus();
    isAnswered.current = state.kind === 'sure';
  }, [state.kind]);
  const path = `/v1/tenants/${tenant}/repos/${encodeURIComponent(repo)}/objects/${oid}`;
  const request = async (dryRun: boolean) => {
    const outcome = await ask<DeletePlanBody>(`${path}${dryRun ? '?dryRun=true' : ''}`, { method: 'DELETE' });
    if (outcome.kind === 'ok') {
      setState(dryRun ? { kind: 'sure', plan: outcome.body } : { kind: 'none' });
      if (!dryRun) onMarked(outcome.body.dueAt);
    } else if (outcome.kind !== 'signed-out')
      setState({
        kind: 'refused',
        detail: outcome.kind === 'refused' ? outcome.detail : notDone,
      });
  };
  return (
    <>
      <tr>
        <th scope="row">
          <code title={oid}>{oid.slice(0, 12)}…</code>
          <p class="note">
            {repo}
            {age && ` · ${age}`}
            {!mayDelete && dueAt && ` · deleted ${formatUntil(dueAt, nowMs)}`}
          </p>
        </th>
        <td class="right strong">{bytesText(sizeBytes)}</td>
        {mayDelete && (
          <td class="right act">
            {dueAt ? (
              <span class="soft" role="status" tabIndex={-1} ref={result as Ref<HTMLSpanElement>}>
                deleted {formatUntil(dueAt, nowMs)}
              </span>
            ) : (
              <button
                type="button"
                class="quiet"
                ref={result as Ref<HTMLButtonElement>}
                aria-label={`Delete ${oid.slice(0, 12)}`}
                disabled={state.kind === 'sure'}
                onClick={() => void request(true)}
              >
                Delete
              </button>
            )}
          </td>
        )}
      </tr>
      {(state.kind === 'sure' || state.kind === 'refused') && (
        <tr>
          <td colSpan={3} class="more">
            {state.kind === 'sure' ? (
              <Sure
                plan={state.plan}
                nowMs={nowMs}
                onSure={() => void request(false)}
                onKeep={() => setState({ kind: 'none' })}
              />
            ) : (
              <Problem text={state.detail} />
            )}
          </td>
        </tr>
      )}
    </>
  );
}

function Sure(props: { plan: DeletePlanBody; nowMs: number; onSure: () => void; onKeep: () => void }) {
  const { plan, nowMs, onSure, onKeep } = props;
  const keep = useRef<HTMLButtonElement>(null);
  // What was pressed does nothing now: the keyboard goes on from here, with what does no harm.
  useLayoutEffect(() => keep.current?.focus(), []);
  return (
    <>
      <p class="note">
        Frees {bytesText(plan.bytes ?? 0)} {formatUntil(plan.dueAt, nowMs)}
        {plan.waitsFor && ', when its upload expires'}. Then you can't check out commits that need it. Push it
        again to keep it.
      </p>
      <span class="sure">
        <button type="button" class="bad" onClick={onSure}>
          Delete
        </button>
        <button type="button" class="quiet" ref={keep} onClick={onKeep}>
          Keep
        </button>
      </span>
    </>
  );
}

const shownMax = 8;
/** So many are looked through without being asked. */
const unaskedMax = 5_000;
/** Pages of 1,000. Beyond that the command line is the better tool. */
const pagesMax = 200;

interface Found<Item> {
  readonly items: readonly Item[];
  readonly isCut: boolean;
  readonly hasFailed: boolean;
}

interface Where {
  readonly tenant: string;
  readonly objectCount: number;
  /** Another one after each count: what was marked may have been pushed again, or be gone. */
  readonly scannedAt: string;
  /** Those that the token is for. null: all. */
  readonly repos: readonly string[] | null;
}

/** Of each repo that may be asked for. */
async function listEach<Item, Key extends string>(
  { tenant, repos }: Where,
  key: Key,
  onSeen?: (count: number) => void,
): Promise<Found<Item>> {
  const items: Item[] = [];
  let [isCut, hasFailed] = [false, false];
  for (const repo of repos ?? [undefined]) {
    const query = repo === undefined ? '' : `?repo=${encodeURIComponent(repo)}`;
    const listed = await askPages<Item, Key>(`/v1/tenants/${tenant}/${key}${query}`, key, {
      pagesMax,
      onPage: (more) => onSeen?.(items.length + more.length),
    });
    if (listed) items.push(...listed.items);
    isCut ||= listed?.isCut ?? false;
    hasFailed ||= !listed;
  }
  return { items, isCut, hasFailed };
}

/** All objects, as the store lists them: by name, so the largest and the oldest are known when all have been seen. */
function useObjects(where: Where) {
  const { tenant, objectCount } = where;
  const [found, setFound] = useState<Found<ObjectBody>>();
  const [seen, setSeen] = useState<number>();
  const run = useRef(0);
  const isUnasked = objectCount <= unaskedMax;
  const look = async () => {
    run.current += 1;
    const own = run.current;
    const isLast = () => run.current === own;
    setSeen(0);
    const listed = await listEach<ObjectBody, 'objects'>(
      where,
      'objects',
      (count) => isLast() && setSeen(count),
    );
    // It was asked anew meanwhile.
    if (!isLast()) return;
    setSeen(undefined);
    setFound(listed);
  };
  useEffect(() => {
    if (isUnasked) void look();
  }, [tenant, objectCount, isUnasked]);
  return { found, seen, isUnasked, look: () => void look() };
}

/** Those that are to go, whoever has asked for it. */
function useMarked(where: Where) {
  const [marked, setMarked] = useState<Found<DeletionBody>>({ items: [], isCut: false, hasFailed: false });
  const run = useRef(0);
  useEffect(() => {
    run.current += 1;
    const own = run.current;
    void listEach<DeletionBody, 'deletions'>(where, 'deletions').then((listed) => {
      if (run.current === own) setMarked(listed);
    });
  }, [where.tenant, where.scannedAt]);
  const add = (deletion: DeletionBody) => {
    run.current += 1;
    setMarked({ ...marked, items: [...marked.items, deletion] });
  };
  return { marked, add };
}

const orderText = { largest: 'Largest', oldest: 'Oldest', marked: 'Marked' } as const;

export function Objects({ tenant, session, address, body, mayManage, nowMs }: ViewProps) {
  const objectCount = body.usage?.objectCount ?? 0;
  return (
    <main>
      <Title address={address} />
      {objectCount > 0 ? (
        <ObjectList
          tenant={tenant}
          address={address}
          objectCount={objectCount}
          scannedAt={body.usage?.scannedAt ?? ''}
          repos={session.repos}
          mayDelete={mayManage}
          nowMs={nowMs}
        />
      ) : (
        <p class="soft">None yet.</p>
      )}
    </main>
  );
}

/** What a delete would free most by, what has lain longest, and what is to go. */
function ObjectList(props: Where & { address: Address; mayDelete: boolean; nowMs: number }) {
  const { tenant, address, objectCount, mayDelete, nowMs } = props;
  const { found, seen, isUnasked, look } = useObjects(props);
  const { marked, add } = useMarked(props);
  const by = (['oldest', 'marked'] as const).find((each) => each === address.query['by']) ?? 'largest';
  const isMarked = by === 'marked';
  const dueAts = new Map(marked.items.map((deletion) => [objectKeyOf(deletion), deletion.dueAt]));
  const rows: readonly (Omit<ObjectBody, 'storedAt'> & Partial<ObjectBody & DeletionBody>)[] = isMarked
    ? [...marked.items].sort((a, b) => (a.dueAt < b.dueAt ? -1 : 1))
    : found
      ? sortObjects(found.items, by)
      : [];
  const shown = isMarked ? marked : found;
  const hasFailed = marked.hasFailed || found?.hasFailed;
  return (
    <Card
      title="Which to delete"
      id="largest"
      action={
        (found || marked.items.length > 0) && (
          <>
            <Choice
              name="objects"
              label="Which objects"
              values={(['largest', 'oldest', 'marked'] as const).filter(
                (each) => each !== 'marked' || isMarked || marked.items.length > 0,
              )}
              textOf={(each) => orderText[each]}
              value={by}
              onChoose={(each) => go({ ...address, query: { ...address.query, by: each } })}
            />
            <CsvButton
              name="objects"
              tenant={tenant}
              rows={rows}
              fields={['repo', 'oid', 'sizeBytes', isMarked ? 'dueAt' : 'storedAt']}
            />
          </>
        )
      }
    >
      {shown ? (
        <>
          {rows.length > 0 ? (
            <table>
              <thead>
                <tr>
                  <th scope="col">Object</th>
                  <th scope="col" class="right">
                    {mayDelete ? 'Frees' : 'Size'}
                  </th>
                  {mayDelete && (
                    <th scope="col">
                      <span class="hidden">Delete</span>
                    </th>
                  )}
                </tr>
              </thead>
              <tbody>
                {rows.slice(0, shownMax).map((object) => (
                  <ObjectRow
                    key={objectKeyOf(object)}
                    tenant={tenant}
                    object={object}
                    mayDelete={mayDelete}
                    age={object.storedAt ? formatAge(object.storedAt, nowMs) : ''}
                    dueAt={dueAts.get(objectKeyOf(object))}
                    onMarked={(dueAt) => add({ ...object, state: 'scheduled', dueAt })}
                    nowMs={nowMs}
                  />
                ))}
              </tbody>
            </table>
          ) : (
            !hasFailed && <p class="soft">None.</p>
          )}
          {hasFailed && <p class="soft">Couldn't list all.</p>}
          <Cut isCut={shown.isCut} count={rows.length} />
        </>
      ) : (
        <NotListed objectCount={objectCount} seen={seen} isUnasked={isUnasked} onLook={look} />
      )}
    </Card>
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
    <div class="room" style={{ minHeight: `${Math.min(objectCount, shownMax) * 57 + 40}px` }}>
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
          Looking{seen ? `: ${formatObjects(seen)} so far` : '…'}
        </p>
      )}
    </div>
  );
}
