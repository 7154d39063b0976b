import { oidName, repoName } from './names.ts';
import type { DownloadAction, ExportAction, GcAction } from './scenario.ts';
import type { GarbageWish, SimSubject } from './subject.ts';
import * as subjects from './subjects.ts';
import type { TenantWorld } from './tenant-world.ts';

/** What people do beside pushes: gc runs, exports and downloads. */
export function cleanUp(world: TenantWorld, { repo, keep, isCancelled }: GcAction): Promise<void> {
  const oids = Array.from({ length: oidsMax }, (_, oid) => oidName(oid));
  return collectGarbage(world, { repo: repoName(repo), oids, keep: new Set(keep.map(oidName)), isCancelled });
}

/** Somebody deletes what is not to be kept. */
export async function collectGarbage(world: TenantWorld, wish: GarbageWish): Promise<void> {
  for (const collect of having('collectGarbage')) await collect(world, wish);
}

/** Those of a scenario, and what makes its repos large repos. */
const oidsMax = 16;

/** An export that nobody works on: it holds deletes up until it is cancelled, or its day is over. */
export async function holdExport(world: TenantWorld, action: ExportAction): Promise<void> {
  const { tenant } = world;
  const repo = action.repo === null ? null : repoName(action.repo);
  const wish = { tenant, repo, format: 'tar', prefer: 'cost', isDryRun: false } as const;
  const started = await world.invoke((deps, code) => code.startExport(deps, wish));
  if (typeof started !== 'object' || started.answer.kind !== 'started') return;
  world.coverage.exports += 1;
  if (action.cancelAfterMs === null) return;
  await world.wait(action.cancelAfterMs);
  const { exportId } = started.answer.job;
  await world.invoke((deps, code) => code.cancelExport(deps, { tenant, exportId }));
}

/** Somebody asks for objects, of which some are not there or have other bytes. One subject meters them. */
export const download = (world: TenantWorld, action: DownloadAction): Promise<void> | undefined =>
  having('download')[0]?.(world, action);

/** Those of the subjects that have it. Nothing is awaited for others: then a seed's run stays what it was. */
const having = <N extends keyof SimSubject>(name: N) =>
  Object.values<SimSubject>(subjects).flatMap((subject) => subject[name] ?? []);
