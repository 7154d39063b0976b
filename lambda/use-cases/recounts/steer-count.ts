import type { Deps } from '../../deps.ts';
import type { RepoRecord } from '../../domain/tenant.ts';
import { LedgerUnavailableError } from '../../rules/system.ts';

export type SteerCountOutcome =
  | { readonly kind: 'changed'; readonly before: RepoRecord; readonly record: RepoRecord }
  /** A first count cannot be given up: without it, nobody knows what the repo holds. */
  | { readonly kind: 'first-count' }
  | { readonly kind: 'no-giant' };

/**
 * Pauses the scans of a giant's shards, resumes them, or gives up a recount of all of them. A scan that is under way goes
 * on for a moment. What was counted stays.
 *
 * @throws {LedgerUnavailableError}
 */
export async function steerCount(
  { ledger, clock, queue, settings }: Pick<Deps, 'ledger' | 'clock' | 'queue' | 'settings'>,
  input: { tenant: string; repo: string; state: 'running' | 'paused' | 'cancelled' },
): Promise<SteerCountOutcome> {
  const { tenant, repo, state } = input;
  const path = { tenant, repo };
  const nowMs = clock.nowMs();
  const steered =
    state === 'cancelled' ? { cancelledAtMs: nowMs } : { pausedAtMs: state === 'paused' ? nowMs : null };
  let before: RepoRecord | undefined;
  // Others may steer it at the same time.
  do {
    before = await ledger.readRepo(path);
    if (!before?.giant) return { kind: 'no-giant' };
    if (state === 'cancelled' && before.giant.isFirstCount) return { kind: 'first-count' };
    if (clock.nowMs() >= nowMs + settings.batchTimeLimitMs)
      throw new LedgerUnavailableError(`Others steered the count of ${tenant}/${repo} at the same time.`);
  } while (
    (await ledger.steerCount({ ...path, ...steered, steeringVersion: before.steeringVersion ?? 0 })) ===
    'refused'
  );
  if (state === 'running') await queue.request({ tenant, reason: 'manual', full: false });
  const record = await ledger.readRepo(path);
  return record?.giant ? { kind: 'changed', before, record } : { kind: 'no-giant' };
}
