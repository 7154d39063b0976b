import type { Ref } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatUntil } from '../../cli/render.ts';
import type { DeletePlanBody } from '../../lambda/http/management/deletes/schemas.ts';
import type { ObjectBody } from '../../lambda/http/management/objects/schemas.ts';
import { ask } from './api.ts';
import { Problem } from './parts.tsx';
import { bytesText, notDone } from './text.ts';

/** What is known of a delete: what it would do, or that it was refused. */
type Delete =
  | { readonly kind: 'none' }
  | { readonly kind: 'sure'; readonly plan: DeletePlanBody }
  | { readonly kind: 'refused'; readonly detail: string };

/** One object; and its delete in two steps, of which the first tells what the second would do. */
export function ObjectRow(props: {
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
            {!mayDelete && dueAt && ` · goes ${formatUntil(dueAt, nowMs)}`}
          </p>
        </th>
        <td class="right strong">{bytesText(sizeBytes)}</td>
        {mayDelete && (
          <td class="right act">
            {dueAt ? (
              <span class="soft" role="status" tabIndex={-1} ref={result as Ref<HTMLSpanElement>}>
                goes {formatUntil(dueAt, nowMs)}
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
        {plan.waitsFor && ', when its upload has expired'}. Then commits that need it cannot be checked out
        any more. Whoever pushes it before then keeps it.
      </p>
      <span class="sure">
        <button type="button" class="bad" onClick={onSure}>
          Delete it
        </button>
        <button type="button" class="quiet" ref={keep} onClick={onKeep}>
          Keep
        </button>
      </span>
    </>
  );
}
