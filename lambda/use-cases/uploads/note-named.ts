import type { Deps } from '../../deps.ts';
import { prefixText } from '../../gc/rules/cleanups.ts';
import { isNoting } from '../../gc/rules/watch.ts';
import type { AdmitUploadInput, BatchAttempt } from './batch-attempt.ts';

/**
 * While a clean-up is under way in the repo, notes what a batch names. A deletion of the clean-up that is claimed after
 * this leaves it alone. One that was claimed before is found by whoever reads deletions after this.
 *
 * @throws {LedgerUnavailableError}
 */
export async function noteNamed(
  { ledger }: Pick<Deps, 'ledger'>,
  { watch, objects, attempt }: Pick<AdmitUploadInput, 'watch' | 'objects'> & { attempt: BatchAttempt },
): Promise<void> {
  const { tenant, beganMs, reservation } = attempt;
  if (!isNoting(watch, beganMs)) return;
  const note = { beganMs, prefixes: prefixText(objects.keys()) };
  await ledger.noteSeen({ tenant, watch, noteId: reservation.id, note });
}
