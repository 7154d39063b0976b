import type { Deps } from '../../deps.ts';
import type { Failure, FailureReason } from '../../domain/failure.ts';
import { LedgerUnavailableError, NewerFormatError } from '../../rules/system.ts';
import { StoreUnavailableError } from '../../store/rules/store.ts';

/** Why a recount failed, in a word. */
export function whyOf(error: unknown): FailureReason {
  if (error instanceof StoreUnavailableError) return 'store';
  if (error instanceof LedgerUnavailableError) return 'table';
  return error instanceof NewerFormatError ? 'newer-format' : 'unexpected';
}

/** Notes for the operator that something failed. If that fails too, it is logged: the failure itself is in the log anyway. */
export async function noteFailure(
  { failures, clock, log }: Pick<Deps, 'failures' | 'clock' | 'log'>,
  failure: Omit<Failure, 'atMs' | 'sinceMs'>,
): Promise<void> {
  const atMs = clock.nowMs();
  try {
    await failures.note({ ...failure, atMs, sinceMs: atMs });
  } catch (error) {
    log.warn('failure not noted', { tenant: failure.tenant, error });
  }
}

/** The same of a recount, with what tells whether a later one has made up for it. */
export async function noteFailedRecount(
  deps: Pick<Deps, 'failures' | 'ledger' | 'clock' | 'log'>,
  failure: Pick<Failure, 'tenant' | 'tries' | 'why'>,
): Promise<void> {
  const record = await deps.ledger.readTenant(failure.tenant).catch(() => undefined);
  await noteFailure(deps, {
    kind: 'recount',
    ...failure,
    ...(record && { appliedEpoch: record.appliedEpoch }),
  });
}
