import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { LedgerUnavailableError, NewerFormatError } from '../../core/rules/errors.ts';
import { NoPartCopyError } from '../../core/store/rules/archive-store.ts';
import { StoreRefusedError, StoreUnavailableError } from '../../core/store/rules/store.ts';
import type { FailurePorts } from './ports.ts';
import type { Failure, FailureReason } from './rules/failures.ts';

/** Why a reconcile failed, in a word. */
export function whyOf(error: unknown): FailureReason {
  if (error instanceof StoreUnavailableError) return 'store';
  if (error instanceof LedgerUnavailableError) return 'table';
  return error instanceof NewerFormatError ? 'newer-format' : 'unexpected';
}

/** Whether the store or the table didn't serve it now: a retry can help. */
export const isOutage = (error: unknown) => ['store', 'table'].includes(whyOf(error));

/** Why something failed, as a part of a sentence for whoever asked for it: without what only the operator can check. */
export function failureText(error: unknown): string {
  const ofStore = [StoreUnavailableError, StoreRefusedError, NoPartCopyError];
  if (ofStore.some((kind) => error instanceof kind)) return (error as Error).message.replace(/: .*|\.$/s, '');
  return error instanceof Error ? error.name : 'an unknown error';
}

/** Notes for the operator that something failed. If that fails too, it is logged: the failure itself is in the log anyway. */
export async function noteFailure(
  { failures, clock, log }: Pick<CoreDeps, 'clock' | 'log'> & FailurePorts,
  failure: Omit<Failure, 'atMs' | 'sinceMs'>,
): Promise<void> {
  const atMs = clock.nowMs();
  try {
    await failures.note({ ...failure, atMs, sinceMs: atMs });
  } catch (error) {
    log.warn('failure not noted', { tenant: failure.tenant, error });
  }
}

/** The same of a reconcile, with what tells whether a later one has made up for it. */
export async function noteFailedReconcile(
  deps: Pick<CoreDeps, 'ledger' | 'clock' | 'log'> & FailurePorts,
  failure: Pick<Failure, 'tenant' | 'tries' | 'why'>,
): Promise<void> {
  const record = await deps.ledger.readTenant(failure.tenant).catch(() => undefined);
  await noteFailure(deps, {
    kind: 'reconcile',
    ...failure,
    ...(record && { appliedEpoch: record.appliedEpoch }),
  });
}
