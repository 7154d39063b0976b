import { expect, it } from 'vitest';
import type { ArchiveStore, UploadedPart } from '../../../../../lambda/core/store/rules/archive-store.ts';
import type { ExportJobs } from '../../../../../lambda/subjects/exports/job-store.ts';
import { decodeJson, ExportBusyError } from '../../../../../lambda/subjects/exports/lease.ts';
import type { ExportRequest } from '../../../../../lambda/subjects/exports/rules/job.ts';
import type { CopyOrder } from '../../../../../lambda/subjects/exports/rules/orders.ts';
import { runExportStep } from '../../../../../lambda/subjects/exports/steps.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { ExportStack } from '../../../../support/subjects/exports/export-stack.ts';
import { RoundTrips } from '../../../../support/subjects/exports/round-trips.ts';
import { expectObjects } from './expect-archives.ts';

/** As many workers as there are messages. Each message takes a round trip, too. */
async function exportInRoundTrips(request: Partial<ExportRequest>, { objects = 60 } = {}) {
  const settings = { pace: { workers: 20, bytesPerSecond: 500, requestSeconds: 1, requestsAtOnce: 2 } };
  const stack = new ExportStack({ pageSize: 1000, partsMax: 10_000, settings });
  const stored = await stack.storeMany(objects, 1500, ['app', 'web']);
  await stack.start(request);
  const trips = new RoundTrips();
  const told = { firstPart: 0, lastPart: 0, done: 0 };
  const archives = trips.through<ArchiveStore>(stack.archives, ['list', 'uploads', 'parts']);
  /** The parts of a zip that have its directory: no unit makes them. */
  let last = new Set<number>();
  const partOf = async (part: Promise<UploadedPart>): Promise<UploadedPart> => {
    told.firstPart ||= trips.count;
    const made = await part;
    if (!last.has(made.number)) told.lastPart = trips.count;
    return made;
  };
  const jobs = trips.through(inTurn(stack.deps.exportJobs), ['listDue']);
  const deps: Deps = {
    ...stack.deps,
    archives: new Proxy(archives, {
      get: (target, name: keyof ArchiveStore) => {
        if (name === 'put')
          return (key: string, bytes: Uint8Array) => {
            if (key.endsWith('/last-0.json'))
              last = new Set(decodeJson<CopyOrder>(bytes).parts.map(({ number }) => number));
            return target.put(key, bytes);
          };
        if (name === 'copyPart')
          return (...given: Parameters<ArchiveStore['copyPart']>) => partOf(target.copyPart(...given));
        if (name === 'uploadPart')
          return (...given: Parameters<ArchiveStore['uploadPart']>) => partOf(target.uploadPart(...given));
        return target[name];
      },
    }),
    listing: trips.through(stack.deps.listing),
    exportQueue: trips.through(stack.deps.exportQueue),
    exportJobs: new Proxy(jobs, {
      get: (target, name: keyof ExportJobs) => {
        if (name !== 'change') return target[name];
        return async (...given: Parameters<ExportJobs['change']>) => {
          const job = await target.change(...given);
          if (job?.state === 'done') told.done ||= trips.count;
          return job;
        };
      },
    }),
  };
  const running = new Set<Promise<void>>();
  while (stack.messages.length > 0 || running.size > 0) {
    for (const message of stack.messages.splice(0)) {
      const run: Promise<void> = trips
        .pass()
        .then(() => runExportStep(deps, { message, deadlineMs: Number.MAX_SAFE_INTEGER }))
        .catch((error: unknown) => {
          if (!(error instanceof ExportBusyError)) throw error;
          stack.messages.push(message);
        })
        .finally(() => running.delete(run));
      running.add(run);
    }
    await trips.pass();
    if (trips.count > 10_000) throw new Error('The export does not end.');
  }
  await expectObjects(stack, stored);
  return {
    beforeParts: told.firstPart,
    afterParts: told.done - told.lastPart,
    units: (await stack.job()).planned?.units,
  };
}

/** Of changes at the same time none has to be made again: that depends on how long they take, and this is of what waits for what. */
function inTurn(jobs: ExportJobs): ExportJobs {
  let last: Promise<unknown> = Promise.resolve();
  const change: ExportJobs['change'] = (...given) => {
    const mine = last.then(() => jobs.change(...given));
    last = mine.catch(() => undefined);
    return mine;
  };
  return { ...jobs, change };
}

it.each([
  // Of 40 units or more. Once there were 23 and 54 before, and 10 after.
  { format: 'tar', beforeParts: 10, afterParts: 5 },
  // Here, eight parts have its directory, one after the other. Of a smaller one it is one, so there are two round trips more than of a tar.
  { format: 'zip', beforeParts: 10, afterParts: 14 },
] as const)('a $format takes so many round trips that no worker shortens', async ({ format, ...trips }) => {
  const { units, ...taken } = await exportInRoundTrips({ format });
  expect(units).toBeGreaterThanOrEqual(40);
  expect(taken).toEqual(trips);
});
