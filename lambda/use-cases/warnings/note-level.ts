import type { Deps } from '../../deps.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import { levelAfter, type WarningLevel } from '../../domain/warning.ts';

type LevelDeps = Pick<Deps, 'warnings' | 'clock' | 'log'>;

/**
 * Raises a warning if a recount found the tenant on another level. It never fails: the next recount looks again.
 *
 * @param input.after the tenant as the recount committed it.
 * @param input.noted whether the recount is the newest, as far as is known.
 */
export async function noteLevel(
  deps: LevelDeps,
  input: { after: TenantRecord; epoch: number; noted: Promise<'noted' | 'older' | 'unknown'> },
): Promise<void> {
  const { after, epoch } = input;
  if (after.counted === null || after.closedAtMs !== null) return;
  try {
    const [{ level }, noted] = await Promise.all([deps.warnings.read(after.tenant), input.noted]);
    // What a newer one found was looked at by that one.
    if (noted !== 'older') await raiseIfCrossed(deps, { tenant: after, epoch, before: level });
  } catch (error) {
    deps.log.warn('level not noted', { tenant: after.tenant, error });
  }
}

/** The same after a change of the limit. A recount that still knows the old one raises nothing any more. */
export async function noteLimit(deps: LevelDeps, tenant: TenantRecord): Promise<void> {
  if (tenant.counted === null) return;
  const { epoch } = tenant;
  try {
    await deps.warnings.ignoreBefore({ tenant: tenant.tenant, epoch });
    const { level } = await deps.warnings.read(tenant.tenant);
    await raiseIfCrossed(deps, { tenant, epoch, before: level });
  } catch (error) {
    deps.log.warn('level not noted', { tenant: tenant.tenant, error });
  }
}

async function raiseIfCrossed(
  { warnings, clock }: LevelDeps,
  input: { tenant: TenantRecord; epoch: number; before: WarningLevel },
): Promise<void> {
  const { epoch, before } = input;
  const { tenant, limitBytes, counted } = input.tenant;
  const storedBytes = counted?.storedBytes ?? 0;
  const level = levelAfter({ before, storedBytes, limitBytes });
  if (level === before) return;
  const figures = { atMs: clock.nowMs(), storedBytes, limitBytes };
  // Whoever loses the race for this write leaves it to the other.
  await warnings.raiseLevel({
    tenant,
    epoch,
    warning: { kind: 'level', ...figures, level, previousLevel: before },
  });
}
