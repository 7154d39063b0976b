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

/** Somebody keeps objects from being deleted. */
export async function hold(world: TenantWorld, { repo, cancelAfterMs }: ExportAction): Promise<void> {
  const wish = { repo: repo === null ? null : repoName(repo), cancelAfterMs };
  for (const subject of Object.values<SimSubject>(subjects))
    if (subject.hold) await subject.hold(world, wish);
}

/** Somebody asks for objects, of which some are not there or have other bytes. One subject meters them. */
export const download = (world: TenantWorld, action: DownloadAction): Promise<void> | undefined =>
  having('download')[0]?.(world, action);

/** Those of the subjects that have it. Nothing is awaited for others: then a seed's run stays what it was. */
export const having = <N extends keyof SimSubject>(name: N) =>
  Object.values<SimSubject>(subjects).flatMap((subject) => subject[name] ?? []);
