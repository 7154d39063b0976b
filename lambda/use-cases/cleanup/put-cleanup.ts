import type { Deps } from '../../deps.ts';
import type { Cleanup } from '../../domain/cleanup/cleanup.ts';

/**
 * Writes a clean-up over the one that was read.
 *
 * @param input.read what was read of it. null: there was none.
 * @returns undefined if somebody else has changed it since.
 * @throws {LedgerUnavailableError}
 */
export function putCleanup(
  { ledger, ids }: Pick<Deps, 'ledger' | 'ids'>,
  { tenant, cleanup, read }: { tenant: string; cleanup: Cleanup; read: Cleanup | null },
): Promise<Cleanup | undefined> {
  return ledger.putCleanup({ tenant, cleanup, versionRead: read?.version ?? null, writeId: ids.random(16) });
}
