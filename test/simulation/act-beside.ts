import type { Downloads } from '../../lambda/subjects/downloads/download-store.ts';
import { downloadMeter } from '../../lambda/subjects/downloads/downloads.ts';
import { Violation } from './invariants.ts';
import { oidName, repoName } from './names.ts';
import { replacing } from './replacing.ts';
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
  for (const subject of Object.values<SimSubject>(subjects))
    if (subject.collectGarbage) await subject.collectGarbage(world, wish);
}

/** Those of a scenario, and what makes its repos large repos. */
const oidsMax = 16;

/** Somebody keeps objects from being deleted. */
export async function hold(world: TenantWorld, { repo, cancelAfterMs }: ExportAction): Promise<void> {
  const wish = { repo: repo === null ? null : repoName(repo), cancelAfterMs };
  for (const subject of Object.values<SimSubject>(subjects))
    if (subject.hold) await subject.hold(world, wish);
}

/** Somebody asks for objects, of which some are not there or have other bytes. What is metered is what was offered. */
export async function download(world: TenantWorld, action: DownloadAction): Promise<void> {
  const { tenant, metered, sizeOf } = world;
  const objects = new Map(
    action.objects.map(({ oid, lie }) => [oidName(oid), sizeOf(oidName(oid)) + (lie ? 1_000 : 0)]),
  );
  const { limitBytes } = metered;
  /** undefined: nobody knows. */
  const batch: { meteredBytes: number | undefined } = { meteredBytes: 0 };
  const result = await world.invoke(async (deps, code) => {
    const record = await deps.ledger.readTenant(tenant);
    if (!record) return undefined;
    const downloads = replacing<Downloads>(deps.downloads, {
      meter: async (offer) => {
        batch.meteredBytes = undefined;
        metered.mayBe(offer);
        const outcome = await deps.downloads.meter(offer);
        batch.meteredBytes = outcome === 'metered' ? offer.bytes : 0;
        if (outcome === 'over-limit') metered.checkRefusal(offer.bytes);
        else metered.is(offer.bytes);
        return outcome;
      },
    });
    const input = {
      tenant: { ...record, downloadLimitBytes: limitBytes },
      tokenId: 'a-token',
      repo: repoName(action.repo),
      objects,
    };
    return (world.offerDownload ?? code.offerDownload)(
      // The last release metered without being given a meter.
      { ...deps, downloads, meters: [downloadMeter({ ...deps, downloads })] } as typeof deps,
      input,
    );
  });
  if (result === 'dead') return;
  const { meteredBytes } = batch;
  if (result === 'error') {
    if (meteredBytes)
      throw new Violation(`Downloads: ${meteredBytes} bytes were metered, and nothing was offered`);
    return;
  }
  const { answer } = result;
  if (answer?.kind !== 'answered') return;
  world.coverage.downloads += 1;
  let offeredBytes = 0;
  for (const [oid, { kind }] of answer.verdicts)
    if (kind === 'download') offeredBytes += objects.get(oid) ?? 0;
  if (meteredBytes !== undefined && meteredBytes !== offeredBytes)
    throw new Violation(`Downloads: ${offeredBytes} bytes were offered, and ${meteredBytes} metered`);
}
