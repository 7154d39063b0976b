import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExportJobs } from '../../lambda/adapters/dynamodb/export-jobs.ts';
import type { ExportJob, ExportPath } from '../../lambda/domain/export/export-job.ts';
import type { ExportMessage } from '../../lambda/ports/export-queue.ts';
import { MemoryExportJobs } from '../../test/support/memory/stores.ts';

/** What a worker asks of the one that has the records and the queue. */
type Question =
  | { readonly ask: 'read'; readonly path: ExportPath }
  /** Replaces a record, if it still has the version that was read. */
  | { readonly ask: 'swap'; readonly job: ExportJob }
  | { readonly ask: 'send'; readonly messages: readonly ExportMessage[] }
  | { readonly ask: 'next' };

/** The records and the queue of one export, which workers in other processes share. */
export class SharedWork {
  readonly #jobs = new MemoryExportJobs();
  readonly #messages: ExportMessage[] = [];
  readonly #server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    response.end(JSON.stringify(await this.#answer(JSON.parse(Buffer.concat(chunks).toString()))));
  });
  /** When the archive was there. */
  doneAtMs: number | undefined;
  #isTidy = false;

  /** @returns its URL. */
  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async begin(job: ExportJob): Promise<void> {
    await this.#jobs.create(job, { placesMax: 1, nowMs: job.createdAtMs });
    const { tenant, exportId } = job;
    this.#messages.push({ tenant, exportId, step: { kind: 'advance' } });
  }

  read(path: ExportPath): Promise<ExportJob | undefined> {
    return this.#jobs.read(path);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(question: Question): Promise<unknown> {
    switch (question.ask) {
      case 'read':
        return { job: await this.#jobs.read(question.path) };
      case 'swap':
        return { isSwapped: await this.#swap(question.job) };
      case 'send':
        this.#messages.push(...question.messages);
        return {};
      case 'next':
        return { message: this.#messages.shift(), isOver: this.#isTidy };
    }
  }

  async #swap(job: ExportJob): Promise<boolean> {
    let isSwapped = false;
    await this.#jobs.change(job, (now) => {
      isSwapped = now.version === job.version;
      return isSwapped ? job : undefined;
    });
    if (!isSwapped) return false;
    if (job.state === 'failed') throw new Error(`The export failed: ${job.failure?.message}`);
    if (job.state === 'done') this.doneAtMs ??= performance.now();
    this.#isTidy = job.isTidy;
    return true;
  }
}

const pollMs = 100;

/** A worker's side of {@link SharedWork}. */
export class WorkClient {
  readonly #url: string;
  readonly #waits: { readonly recordMs: number; readonly queueMs: number };

  /** @param waits what the table and the queue take for each request. */
  constructor(url: string, waits: { recordMs: number; queueMs: number }) {
    this.#url = url;
    this.#waits = waits;
  }

  /** What use cases of steps need of the records. */
  get jobs(): Pick<ExportJobs, 'read' | 'change' | 'leavePlace'> {
    const read = async (path: ExportPath) => {
      await sleep(this.#waits.recordMs);
      return (await this.#ask<{ job?: ExportJob }>({ ask: 'read', path })).job;
    };
    return {
      read,
      leavePlace: async () => {},
      change: async (path, change) => {
        for (;;) {
          const job = await read(path);
          const changed = job && change(job);
          if (!changed) return job;
          const swapped = { ...changed, version: job.version };
          await sleep(this.#waits.recordMs);
          const { isSwapped } = await this.#ask<{ isSwapped: boolean }>({ ask: 'swap', job: swapped });
          if (isSwapped) return { ...swapped, version: job.version + 1 };
        }
      },
    };
  }

  async send(messages: readonly ExportMessage[]): Promise<void> {
    await sleep(this.#waits.queueMs);
    await this.#ask({ ask: 'send', messages });
  }

  /** The next message. undefined: the export is over. */
  async next(): Promise<ExportMessage | undefined> {
    for (;;) {
      const { message, isOver } = await this.#ask<{ message?: ExportMessage; isOver: boolean }>({
        ask: 'next',
      });
      if (message) await sleep(this.#waits.queueMs);
      if (message || isOver) return message;
      await sleep(pollMs);
    }
  }

  async #ask<Answer>(question: Question): Promise<Answer> {
    const response = await fetch(this.#url, { method: 'POST', body: JSON.stringify(question) });
    return (await response.json()) as Answer;
  }
}
