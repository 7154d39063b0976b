import type { Deps } from '../../deps.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import { noteCount } from '../../extras/history.ts';
import { noteLevel } from '../../extras/warnings.ts';

/**
 * Notes what a reconcile has committed, in the history and for warnings. Neither is part of the protocol: this never
 * fails, and the next recount makes up for what is lost.
 */
export async function noteOutcome(
  deps: Pick<Deps, 'history' | 'warnings' | 'clock' | 'log' | 'metrics'>,
  input: { before: TenantRecord; after: TenantRecord; epoch: number },
): Promise<void> {
  const noted = noteCount(deps, input);
  await noteLevel(deps, { ...input, noted });
  await noted;
}
