import type { Deps } from '../../deps.ts';
import { emptiedName } from '../../domain/deletion.ts';
import type { RepoPath } from '../../domain/tenant.ts';
import { LedgerUnavailableError } from '../../rules/system.ts';

/**
 * Which of the objects that the store does not have were deleted by clean-ups, and when. If the ledger does not answer, none:
 * it only says why something is missing.
 *
 * @param input.oids if there are none, nothing is asked.
 */
export async function findGone(
  { ledger, log }: Pick<Deps, 'ledger' | 'log'>,
  input: RepoPath & { oids: readonly string[] },
): Promise<ReadonlyMap<string, number>> {
  if (input.oids.length === 0) return new Map();
  try {
    const found = await ledger.goneOf({ ...input, oids: [...input.oids, emptiedName] });
    const emptiedAtMs = found.get(emptiedName) ?? 0;
    return new Map([...found].filter(([, goneAtMs]) => goneAtMs > emptiedAtMs));
  } catch (error) {
    if (!(error instanceof LedgerUnavailableError)) throw error;
    log.warn('it is not known why objects are missing', { tenant: input.tenant, repo: input.repo });
    return new Map();
  }
}
