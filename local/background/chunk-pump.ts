import { randomUUID } from 'node:crypto';
import type { ChunkMessage, ChunkQueue } from '../../lambda/chunks/messages.ts';
import { inState } from '../../lambda/chunks/rules/upload.ts';
import type { ChunkedUploads } from '../../lambda/chunks/upload-store.ts';
import type { Log } from '../../lambda/rules/clock-and-log.ts';
import type { QueueGauge } from '../../lambda/status/rules/status.ts';
import { Pump, type PumpConsumer } from './pump.ts';
import type { Timers } from './schedule.ts';

/** Chunks that are read at a time. */
const chunksAtOnce = 4;
/** Messages that wait, at most. Beyond that the oldest is dropped. */
const waitingMax = 10_000;
/** From a step that failed to its next delivery, and how often it's delivered. */
const retryMs = 3_000;
const deliveriesMax = 20;
const timeLimitMs = 15 * 60_000;

/**
 * The queue of chunked uploads, in memory, and what delivers it. It needs no file: a client reports again what isn't proven,
 * and asks until its object is stored, and the schedule asks for the rest.
 */
export class ChunkPump implements ChunkQueue {
  readonly #pump: Pump<ChunkMessage>;

  constructor({ timers, log }: { timers: Timers; log: Log }) {
    this.#pump = new Pump({
      timers,
      queue: 'chunk',
      functionName: 'assembleUpload',
      timeLimitMs,
      atOnce: chunksAtOnce,
      waitingMax,
      idOf: ({ message }) => JSON.stringify(message),
      retryAfterMs: ({ failures }) => (failures + 1 < deliveriesMax ? retryMs : undefined),
      onError: ({ message: { step, upload }, messageId }, error) =>
        log.error('chunked upload step failed', { step, upload, messageId, error }),
    });
  }

  get gauge(): QueueGauge {
    return this.#pump.gaugeAs('chunks');
  }

  async send(messages: readonly ChunkMessage[]): Promise<void> {
    for (const message of messages) this.#pump.add({ message, messageId: randomUUID(), failures: 0 });
  }

  /**
   * Begins to deliver.
   *
   * @param isAlone no other process has this data folder: whoever was assembling has died, and nobody need wait for it.
   */
  async deliverTo(
    consumer: PumpConsumer,
    uploads: Pick<ChunkedUploads, 'listDue' | 'change'>,
    isAlone: boolean,
  ): Promise<void> {
    if (isAlone)
      for await (const page of uploads.listDue({ nowMs: Number.MAX_SAFE_INTEGER / 2 }))
        for (const path of page)
          await uploads.change(path, (upload) =>
            upload.state === 'assembling' ? inState(upload, 'open', upload.stateAtMs) : undefined,
          );
    this.#pump.deliverTo(consumer);
  }

  /** Delivers no more. Waits for running steps, at most `graceMs`. */
  close(graceMs: number): Promise<void> {
    return this.#pump.close(graceMs);
  }
}
