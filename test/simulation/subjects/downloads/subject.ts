import { dayMs, dayOf } from '../../../../lambda/core/rules/dates.ts';
import {
  createDynamoDbDownloads,
  type Downloads,
} from '../../../../lambda/subjects/downloads/download-store.ts';
import { downloadMeter } from '../../../../lambda/subjects/downloads/downloads.ts';
import { Violation } from '../../invariants.ts';
import { oidName, repoName } from '../../names.ts';
import { replacing } from '../../replacing.ts';
import type { DownloadAction } from '../../scenario.ts';
import type { SimSubject } from '../../subject.ts';
import type { TenantWorld } from '../../tenant-world.ts';
import { Metered } from './metered.ts';

/** By tenant of a run: what is true of it. */
const meteredBy = new WeakMap<TenantWorld['truth'], Metered>();

function meteredOf({ truth, downloadLimitBytes }: TenantWorld): Metered {
  const metered = meteredBy.get(truth) ?? new Metered(downloadLimitBytes);
  meteredBy.set(truth, metered);
  return metered;
}

/** Somebody asks for objects, of which some are not there or have other bytes. What is metered is what was offered. */
async function download(world: TenantWorld, action: DownloadAction): Promise<void> {
  const { tenant, sizeOf } = world;
  const metered = meteredOf(world);
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

/** Of all months. A function whose clock is behind meters in the one before the run began. */
async function meteredBytes({ tenant, truth, scheduler }: TenantWorld): Promise<number> {
  const months = new Set<string>();
  for (let atMs = scheduler.beganMs - dayMs; atMs <= scheduler.nowMs + dayMs; atMs += dayMs)
    months.add(dayOf(atMs).slice(0, 7));
  const downloads = createDynamoDbDownloads(truth.ledger.table);
  let bytes = 0;
  for (const month of months) bytes += (await downloads.month({ tenant, month })).bytes;
  return bytes;
}

export const downloads = {
  download,
  least: { downloads: 0.085 },
  checkRest: async (world) => meteredOf(world).checkMonth(await meteredBytes(world)),
} satisfies SimSubject;
