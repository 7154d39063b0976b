import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../lambda/aws/clock-and-ids.ts';
import { markHeapAtOnce } from '../../lambda/aws/deployed.ts';
import type { AdvanceDeps } from '../../lambda/exports/advance.ts';
import { ExportBusyError } from '../../lambda/exports/lease.ts';
import type { ExportMessage } from '../../lambda/exports/messages.ts';
import { newExportJob } from '../../lambda/exports/rules/job.ts';
import { type ExportStoreKind, exportSettingsFor } from '../../lambda/exports/rules/settings.ts';
import { runExportStep } from '../../lambda/exports/steps.ts';
import { ScanListing } from '../../lambda/scan/list-objects.ts';
import { ArchiveClient } from '../../lambda/store/archive-client.ts';
import { BucketClient } from '../../lambda/store/bucket-client.ts';
import type { ArchiveStore } from '../../lambda/store/rules/archive-store.ts';
import { createArchiveStore } from '../../lambda/store/s3-archives.ts';
import type { Deps } from '../../local/deps.ts';
import { wholeTenant } from '../../test/support/export-request.ts';
import { MemoryExportJobs } from '../../test/support/memory/stores.ts';
import { ownCpuMs, peakMemoryMb, serve } from '../serve.ts';
import { bucketAt } from '../store.ts';

/** Bytes in one direction, one call after the other. */
class Bandwidth {
  readonly #bytesPerMs: number;
  #freeAtMs = 0;

  constructor(bytesPerSecond: number) {
    this.#bytesPerMs = bytesPerSecond / 1000;
  }

  /** Waits until the bytes have passed, behind those that came before. */
  async pass(bytes: number): Promise<void> {
    const nowMs = performance.now();
    this.#freeAtMs = Math.max(nowMs, this.#freeAtMs) + bytes / this.#bytesPerMs;
    await sleep(this.#freeAtMs - nowMs);
  }
}

/** What a worker's way to the store does. */
interface Network {
  /** In each direction. */
  readonly bytesPerSecond: number;
  readonly requestMs: number;
}

/** The bytes that a call sends. */
const sent: Partial<Record<keyof ArchiveStore, (...args: never[]) => Uint8Array>> = {
  put: (_key: string, bytes: Uint8Array) => bytes,
  putSource: (_key: string, bytes: Uint8Array) => bytes,
  uploadPart: (_upload: object, part: { bytes: Uint8Array }) => part.bytes,
};

/**
 * A store that is far away: each request, or page, takes a while, and bytes pass at a limited speed in each direction.
 * What the store itself takes comes on top.
 */
function slowStore(store: ArchiveStore, { bytesPerSecond, requestMs }: Network): ArchiveStore {
  const [down, up] = [new Bandwidth(bytesPerSecond), new Bandwidth(bytesPerSecond)];
  async function* paged<T>(pages: AsyncIterable<T>): AsyncGenerator<T> {
    for await (const page of pages) {
      await sleep(requestMs);
      yield page;
    }
  }
  const slow =
    (name: keyof ArchiveStore) =>
    async (...args: never[]) => {
      await up.pass(sent[name]?.(...args).length ?? 0);
      const call = (store[name] as (...args: never[]) => Promise<unknown>)(...args);
      const [answer] = await Promise.all([call, sleep(requestMs)]);
      // Read into the last argument, or returned.
      const bytes: unknown = name === 'readInto' ? args.at(-1) : answer;
      await down.pass(bytes instanceof Uint8Array ? bytes.length : 0);
      return answer;
    };
  return new Proxy(store, {
    get: (_, name: keyof ArchiveStore) => {
      if (name === 'list' || name === 'uploads' || name === 'parts')
        return (...args: never[]) =>
          paged((store[name] as (...args: never[]) => AsyncIterable<unknown>)(...args));
      return slow(name);
    },
  });
}

interface ExportInput {
  readonly endpoint: string;
  readonly tenant: string;
  readonly kind: ExportStoreKind;
  readonly format: 'tar' | 'zip';
  readonly workers: number;
  readonly timeoutFactor: number;
  readonly network: Network & { readonly recordMs: number; readonly queueMs: number };
}

export interface Exported {
  /** Until the archive was there. */
  readonly seconds: number;
  readonly units: number;
  readonly archiveBytes: number;
  readonly throughBytes: number;
  readonly cpuSeconds: number;
  /** Of the process, with all of its workers. */
  readonly peakMb: number;
}

const retryMs = 200;
const pollMs = 100;
const stepMsMax = 3_600_000;
const log: Deps['log'] = { info: () => {}, warn: () => {}, error: () => {} };

/** Records that take a while to read and to change, as in a table. */
function slowJobs(jobs: MemoryExportJobs, recordMs: number): AdvanceDeps['exportJobs'] {
  return {
    read: (path) => sleep(recordMs).then(() => jobs.read(path)),
    change: (path, change) => sleep(2 * recordMs).then(() => jobs.change(path, change)),
    leavePlace: async () => {},
  } as Partial<Deps['exportJobs']> as AdvanceDeps['exportJobs'];
}

/** One export from start to end, by several workers that share records and a queue. Each has a network of its own. */
async function exportAll(input: ExportInput): Promise<Exported> {
  const { tenant, format, workers, timeoutFactor, network } = input;
  const request = { ...wholeTenant, format };
  const place = bucketAt(input.endpoint);
  const archives = createArchiveStore({ client: new ArchiveClient(place) });
  const settings = exportSettingsFor(input.kind, { workers });
  const jobs = new MemoryExportJobs();
  const exportId = randomBytes(6).toString('hex');
  const path = { tenant, exportId };
  const job = newExportJob({ ...path, request, nowMs: Date.now(), limitMs: settings.limitMs });
  await jobs.create(job, { placesMax: 1, nowMs: job.createdAtMs });
  const messages: ExportMessage[] = [{ ...path, step: { kind: 'advance' } }];
  const startedMs = performance.now();
  let doneAtMs: number | undefined;
  const work = async () => {
    // As each function has: with connections of its own. Time limits are as slow as the network.
    const own = createArchiveStore({ client: new ArchiveClient({ ...place, timeoutFactor }) });
    const deps: AdvanceDeps = {
      archives: slowStore(own, network),
      listing: new ScanListing({ client: new BucketClient(place) }),
      exportJobs: slowJobs(jobs, network.recordMs),
      exportQueue: {
        send: async (sent) => {
          await sleep(network.queueMs);
          messages.push(...sent);
        },
      },
      exportSettings: settings,
      clock: systemClock,
      failures: { note: async () => {}, list: async () => [] },
      log,
    };
    for (;;) {
      const now = await jobs.read(path);
      if (now?.state === 'failed') throw new Error(`The export failed: ${now.failure?.message}`);
      if (now?.state === 'done') doneAtMs ??= performance.now();
      if (now?.isTidy) return;
      const message = messages.shift();
      await sleep(message ? network.queueMs : pollMs);
      if (!message) continue;
      try {
        await runExportStep(deps, { message, deadlineMs: Date.now() + stepMsMax });
      } catch (error) {
        if (!(error instanceof ExportBusyError)) throw error;
        await sleep(retryMs);
        messages.push(message);
      }
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  const { units = 0, figures, volumes = [] } = (await jobs.read(path))?.planned ?? {};
  for (const { key } of volumes)
    if ((await archives.head(key)) === undefined) throw new Error(`The archive ${key} isn't stored.`);
  await archives.delete(volumes.map(({ key }) => key));
  return {
    seconds: ((doneAtMs ?? Number.NaN) - startedMs) / 1000,
    units,
    archiveBytes: figures?.archiveBytes ?? 0,
    throughBytes: figures?.throughBytes ?? 0,
    cpuSeconds: ownCpuMs() / 1000,
    peakMb: peakMemoryMb(),
  };
}

// As the function does.
await markHeapAtOnce();

const api = { export: exportAll };

export type ExportApi = typeof api;

serve(api);
