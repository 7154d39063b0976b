import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { AuditUnavailableError, LedgerUnavailableError } from '../../core/rules/errors.ts';
import type { AccessPorts } from './ports.ts';
import {
  type AuditActor,
  type AuditEntry,
  type AuditFields,
  type AuditOutcome,
  auditFields,
  auditText,
} from './rules/audit.ts';
import type { Caller } from './rules/tokens.ts';

type AuditDeps = Pick<CoreDeps, 'clock' | 'log'> & Pick<AccessPorts, 'audit'>;

/** What is about to be done. Its fields are made small and free of secrets here. */
type AuditedAction = Pick<AuditEntry, 'tenant' | 'requestId' | 'by' | 'action'> & {
  readonly target?: Readonly<Record<string, unknown>>;
  readonly asked?: Readonly<Record<string, unknown>>;
};

/** Who has a token, or comes by a git host; or the operator, who has none of a tenant. */
export function actorOf(token: Caller | undefined): AuditActor {
  if (!token) return { kind: 'operator', tokenId: null, name: null };
  if (token.hostUser) return { kind: 'identity', tokenId: token.hostUser.id, name: token.hostUser.login };
  return { kind: 'token', tokenId: token.tokenId, name: token.user ?? token.label };
}

/** Hears from an action what it changes. */
export class AuditTrail {
  #before: AuditFields | null = null;
  #after: AuditFields | null = null;

  /** What it changes, as it was. */
  was(fields: Readonly<Record<string, unknown>>): void {
    this.#before = { ...this.#before, ...auditFields(fields) };
  }

  /** … and as it became. */
  became(fields: Readonly<Record<string, unknown>>): void {
    this.#after = { ...this.#after, ...auditFields(fields) };
  }

  get changes(): Pick<AuditEntry, 'before' | 'after'> {
    return { before: this.#before, after: this.#after };
  }
}

/** What came of an action. */
export interface AuditVerdict {
  readonly outcome: Exclude<AuditOutcome, 'started'>;
  readonly reason?: string | undefined;
}

/**
 * Does something that is audited: writes down that it is begun, does it, and writes down what came of it. If the function
 * dies in between, or the end cannot be written, the entry stays as begun.
 *
 * @param verdictOf what a result means.
 * @throws {AuditUnavailableError} if the beginning cannot be written. Then nothing is done.
 * @throws what the action throws.
 */
export async function audited<T>(
  deps: AuditDeps,
  {
    action,
    run,
    verdictOf,
  }: {
    action: AuditedAction;
    run: (trail: AuditTrail) => Promise<T>;
    verdictOf: (result: T) => AuditVerdict;
  },
): Promise<T> {
  const entry = begunEntry(deps, action);
  try {
    await deps.audit.begin(entry);
  } catch (cause) {
    if (!(cause instanceof LedgerUnavailableError)) throw cause;
    throw new AuditUnavailableError("Can't write the audit.", { cause });
  }
  const trail = new AuditTrail();
  let result: T;
  try {
    result = await run(trail);
  } catch (error) {
    await finish(deps, { ...entry, ...trail.changes, outcome: 'failed' });
    throw error;
  }
  const { outcome, reason = null } = verdictOf(result);
  await finish(deps, { ...entry, ...trail.changes, outcome, reason });
  return result;
}

function begunEntry({ clock }: Pick<CoreDeps, 'clock'>, action: AuditedAction): AuditEntry {
  const { target = {}, asked, by, ...rest } = action;
  return {
    ...rest,
    atMs: clock.nowMs(),
    by: { ...by, name: by.name === null ? null : auditText(by.name) },
    target: auditFields(target),
    asked: asked === undefined ? null : auditFields(asked),
    outcome: 'started',
    reason: null,
    before: null,
    after: null,
  };
}

/** The action was done, or not, whether or not this can be written. */
async function finish({ audit, log }: AuditDeps, entry: AuditEntry): Promise<void> {
  const { tenant, action, by, target, outcome, reason } = entry;
  log.info('audit', { tenant, action, by, target, outcome, ...(reason !== null && { reason }) });
  try {
    await audit.finish(entry);
  } catch (error) {
    log.warn('audit not finished', { tenant, action, error });
  }
}
