import { BucketClient } from '../../lambda/adapters/s3/client.ts';
import { ArchiveClient } from '../../lambda/adapters/s3-archive/archive-client.ts';
import { S3ArchiveStore } from '../../lambda/adapters/s3-archive/archive-store.ts';
import { ScanListing } from '../../lambda/adapters/s3-scan/listing.ts';
import { systemClock } from '../../lambda/adapters/system/clock.ts';
import type { ExportSettings } from '../../lambda/domain/export/export-settings.ts';
import type { Deps } from '../../lambda/use-cases/deps.ts';
import { ExportBusyError } from '../../lambda/use-cases/exports/lease.ts';
import { runExportStep, type StepDeps } from '../../lambda/use-cases/exports/run-step.ts';
import { peakMemoryMb } from '../child/peak-memory.ts';
import { serve } from '../child/serve.ts';
import { WorkClient } from './shared-work.ts';
import { slowStore } from './slow-store.ts';

export interface WorkerInput {
  readonly workUrl: string;
  readonly store: { readonly endpoint: string; readonly bucket: string; readonly region: string };
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly settings: ExportSettings;
  readonly bytesPerSecond: number;
  readonly requestMs: number;
  readonly recordMs: number;
  readonly queueMs: number;
}

const retryMs = 200;
const timeLimitMs = 3_600_000;
const log: Deps['log'] = { info: () => {}, warn: () => {}, error: () => {} };

const api = {
  /** Does steps until the export is over. */
  async work(input: WorkerInput): Promise<{ peakMb: number; cpuSeconds: number; steps: number }> {
    const { workUrl, settings, bytesPerSecond, requestMs } = input;
    const place = { ...input.store, forcePathStyle: true, credentials: async () => input.credentials };
    const work = new WorkClient(workUrl, input);
    const archives = new S3ArchiveStore({ client: new ArchiveClient(place) });
    const deps: StepDeps = {
      archives: slowStore(archives, { bytesPerSecond, requestMs }),
      listing: new ScanListing({ client: new BucketClient(place) }),
      exportJobs: work.jobs as Deps['exportJobs'],
      exportQueue: work,
      exportSettings: settings,
      clock: systemClock,
      failures: { note: async () => {}, list: async () => [] },
      log,
    };
    let steps = 0;
    for (let message = await work.next(); message; message = await work.next()) {
      steps += 1;
      try {
        await runExportStep(deps, { message, deadlineMs: Date.now() + timeLimitMs });
      } catch (error) {
        if (!(error instanceof ExportBusyError)) throw error;
        await new Promise((resolve) => setTimeout(resolve, retryMs));
        await work.send([message]);
      }
    }
    const { user, system } = process.cpuUsage();
    return { peakMb: peakMemoryMb(), cpuSeconds: (user + system) / 1e6, steps };
  },
};

export type ExportWorkerApi = typeof api;

serve(api);
