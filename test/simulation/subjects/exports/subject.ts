import { defaultSettings } from '../../../../lambda/core/rules/settings.ts';
import { isOpen } from '../../../../lambda/subjects/exports/rules/job.ts';
import { MemoryExportJobs } from '../../../support/subjects/exports/in-memory.ts';
import type { Code } from '../../code.ts';
import { type AskedRemoval, Violation } from '../../invariants.ts';
import type { HoldWish, SimSubject } from '../../subject.ts';
import type { TenantWorld } from '../../tenant-world.ts';
import type { World } from '../../world.ts';
import type { exports as exportCode } from './code.ts';

/** Of the version that is invoked. */
const its = (version: Code) => version as Code & (typeof exportCode)['code'];

/** An export that nobody works on: it holds deletes up until it is cancelled, or its day is over. */
async function hold(world: TenantWorld, { repo, cancelAfterMs }: HoldWish): Promise<void> {
  const { tenant } = world;
  const wish = { tenant, repo, format: 'tar', prefer: 'cost', isDryRun: false } as const;
  const started = await world.invoke((deps, version) => its(version).startExport(deps, wish));
  if (typeof started !== 'object' || started.answer.kind !== 'started') return;
  world.coverage.exports += 1;
  if (cancelAfterMs === null) return;
  await world.wait(cancelAfterMs);
  const { exportId } = started.answer.job;
  await world.invoke((deps, version) => its(version).cancelExport(deps, { tenant, exportId }));
}

/** What was asked to be deleted only after an export was opened stays until that has ended. */
function checkRemoval({ table }: World, { tenant, repo, oid, askedMs, nowMs }: AskedRemoval): void {
  const skewMs = 2 * defaultSettings.clockSkewMs;
  for (const job of new MemoryExportJobs({ on: table }).of(tenant)) {
    const { request, createdAtMs, endsByMs } = job;
    const isOfRepo = request.repo === null || request.repo === repo;
    const isInTime = createdAtMs + skewMs < askedMs && nowMs + skewMs < endsByMs;
    if (isOfRepo && isInTime && isOpen(job))
      throw new Violation(
        `Exports: ${`${repo}/${oid}`.slice(0, 11)} was deleted, and an open export is to have it`,
      );
  }
}

export const exports = {
  hold,
  checkRemoval,
  least: { exports: 0.022 },
} satisfies SimSubject;
