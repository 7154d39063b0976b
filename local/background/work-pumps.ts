import type { ChunkMessage } from '../../lambda/chunks/messages.ts';
import { inState } from '../../lambda/chunks/rules/upload.ts';
import type { ChunkedUploads } from '../../lambda/chunks/upload-store.ts';
import type { CopyMessage } from '../../lambda/downloads/messages.ts';
import type { ExportJobs } from '../../lambda/exports/job-store.ts';
import type { ExportMessage } from '../../lambda/exports/messages.ts';
import type { Log } from '../../lambda/rules/clock-and-log.ts';
import { Pump } from './pump.ts';
import type { Timers } from './schedule.ts';

/** Queues in memory alone, and what delivers them. */

interface Around {
  readonly timers: Timers;
  readonly log: Log;
}

const timeLimitMs = 15 * 60_000;

/** Steps of exports that run at a time. */
export const exportWorkers = 2;

/**
 * The steps of exports. They need no file: an export goes on from its record and from what the store has, so after a
 * start every export that is not done is asked for its next step: {@link resumeExports}.
 */
export const exportPump = ({ timers, log }: Around) =>
  new Pump<ExportMessage>({
    timers,
    queue: 'export',
    functionName: 'exportArchive',
    timeLimitMs,
    atOnce: exportWorkers,
    // As many as the exports under way have steps.
    waitingMax: Number.MAX_SAFE_INTEGER,
    idOf: ({ message }) => JSON.stringify(message),
    retryAfterMs: () => 3_000,
    onError: ({ message, messageId }, error) =>
      log.error('export step failed', { ...message, messageId, error }),
  });

/**
 * Asks for a step of each export that an earlier process has not finished. Before the first delivery: a step that ran
 * already would lose its lease.
 *
 * @param isAlone no other process has this data folder: whoever held a lease has died, and nobody need wait for its end.
 */
export async function resumeExports(
  pump: Pump<ExportMessage>,
  jobs: Pick<ExportJobs, 'listDue' | 'change'>,
  isAlone = true,
): Promise<void> {
  for await (const page of jobs.listDue({ nowMs: Number.MAX_SAFE_INTEGER / 2 })) {
    for (const path of isAlone ? page : [])
      await jobs.change(path, (job) => (job.leaseUntilMs > 0 ? { ...job, leaseUntilMs: 0 } : undefined));
    await pump.send(page.map((path) => ({ ...path, step: { kind: 'advance' } })));
  }
}

/**
 * What is to be done for chunked uploads. It needs no file: a client reports again what isn't proven, and asks until its
 * object is stored, and the schedule asks for the rest.
 */
export const chunkPump = ({ timers, log }: Around) =>
  new Pump<ChunkMessage>({
    timers,
    queue: 'chunk',
    functionName: 'assembleUpload',
    timeLimitMs,
    atOnce: 4,
    waitingMax: 10_000,
    idOf: ({ message }) => JSON.stringify(message),
    retryAfterMs: ({ failures }) => (failures < 19 ? 3_000 : undefined),
    onError: ({ message: { step, upload }, messageId }, error) =>
      log.error('chunked upload step failed', { step, upload, messageId, error }),
  });

/**
 * Opens what an earlier process was assembling. Before the first delivery.
 *
 * @param isAlone no other process has this data folder: whoever was assembling has died, and nobody need wait for it.
 */
export async function reopenUploads(
  uploads: Pick<ChunkedUploads, 'listDue' | 'change'>,
  isAlone: boolean,
): Promise<void> {
  if (!isAlone) return;
  for await (const page of uploads.listDue({ nowMs: Number.MAX_SAFE_INTEGER / 2 }))
    for (const path of page)
      await uploads.change(path, (upload) =>
        upload.state === 'assembling' ? inState(upload, 'open', upload.stateAtMs) : undefined,
      );
}

/** Copies from git hosts. A stop loses what waits: whoever pulls its object again asks for it again. */
export const copyPump = ({ timers, log }: Around) =>
  new Pump<CopyMessage>({
    timers,
    queue: 'copy',
    functionName: 'copyObject',
    timeLimitMs,
    atOnce: 4,
    waitingMax: 10_000,
    idOf: ({ messageId }) => messageId,
    retryAfterMs: ({ failures }) => (failures < 2 ? 30_000 : undefined),
    // The message has secrets.
    onError: ({ message: { tenant, repo, oid } }, error) =>
      log.error('object not copied', { tenant, repo, oid, error }),
  });
