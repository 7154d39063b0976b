import { setTimeout as sleep } from 'node:timers/promises';
import type { ArchiveStore } from '../../../../lambda/core/store/rules/archive-store.ts';
import type { ObjectListing } from '../../../../lambda/core/store/rules/store.ts';
import { ExportBusyError } from '../../../../lambda/subjects/exports/lease.ts';
import type { ExportMessage } from '../../../../lambda/subjects/exports/messages.ts';
import {
  type ExportJob,
  type ExportRequest,
  newExportJob,
} from '../../../../lambda/subjects/exports/rules/job.ts';
import type { ExportSettings } from '../../../../lambda/subjects/exports/rules/settings.ts';
import { runExportStep } from '../../../../lambda/subjects/exports/steps.ts';
import type { Deps } from '../../../../local/deps.ts';
import { memoryDeps } from '../../memory/deps.ts';
import { wholeTenant as all } from './export-request.ts';
import { MemoryExportJobs } from './in-memory.ts';

/** A function died: nothing that it calls afterwards reaches the store. */
class KilledError extends Error {
  override readonly name = 'KilledError';
}

const stepsAtOnce = 3;
/** A killed function's lease ends. */
const afterKillMs = 61_000;

/** Exports on a real store. Their records and messages are in memory, and their functions can be killed. */
export class StoreExports {
  readonly jobs = new MemoryExportJobs();
  kills = 0;
  readonly #deps: Deps;
  readonly #messages: ExportMessage[] = [];
  /** How far the clock of the functions is ahead. */
  #aheadMs = 0;

  constructor(input: { archives: ArchiveStore; listing: ObjectListing; settings: ExportSettings }) {
    const { archives, listing, settings: exportSettings } = input;
    const nowMs = () => Date.now() + this.#aheadMs;
    this.#deps = memoryDeps({
      archives,
      listing,
      exportSettings,
      exportJobs: this.jobs,
      exportQueue: { isOn: true, send: async (messages) => void this.#messages.push(...messages) },
      clock: { nowMs, sleep: (durationMs) => sleep(durationMs) },
    });
  }

  /** @param input.callsToLive of the store, for the next step that begins; undefined: it lives to its end. */
  async run(input: {
    tenant: string;
    exportId: string;
    request?: Partial<ExportRequest>;
    callsToLive?: () => number | undefined;
  }): Promise<ExportJob> {
    const { tenant, exportId, request, callsToLive = () => undefined } = input;
    const { clock, exportSettings } = this.#deps;
    const { limitMs } = exportSettings;
    const job = newExportJob({
      tenant,
      exportId,
      request: { ...all, ...request },
      nowMs: clock.nowMs(),
      limitMs,
    });
    await this.jobs.create(job, { placesMax: 100, nowMs: clock.nowMs() });
    this.#messages.push({ tenant, exportId, step: { kind: 'advance' } });
    let running = 0;
    const worker = async () => {
      for (let message = this.#messages.shift(); message || running > 0; message = this.#messages.shift()) {
        if (!message) {
          await sleep(5);
          continue;
        }
        running += 1;
        await this.#deliver(message, callsToLive());
        running -= 1;
      }
    };
    await Promise.all(Array.from({ length: stepsAtOnce }, worker));
    const ended = await this.jobs.read({ tenant, exportId });
    if (!ended) throw new Error('There is no job.');
    return ended;
  }

  async #deliver(message: ExportMessage, callsToLive: number | undefined): Promise<void> {
    const deps = callsToLive === undefined ? this.#deps : mortal(this.#deps, callsToLive);
    try {
      await runExportStep(deps, { message, deadlineMs: deps.clock.nowMs() + 600_000 });
    } catch (error) {
      if (!(error instanceof KilledError || error instanceof ExportBusyError)) throw error;
      this.#messages.push(message);
      if (error instanceof KilledError) {
        this.kills += 1;
        this.#aheadMs += afterKillMs;
      } else await sleep(20);
    }
  }
}

const paged: ReadonlySet<string | symbol> = new Set(['list', 'uploads', 'parts', 'listDue']);

/** The same, for a function that dies at one of its calls of the store: before it, or without its answer. */
function mortal(deps: Deps, callsToLive: number): Deps {
  let calls = 0;
  const live = () => {
    calls += 1;
    if (calls > callsToLive) throw new KilledError('The function died.');
  };
  const wrapped =
    (call: (...args: unknown[]) => unknown, name: string | symbol) =>
    (...args: unknown[]) => {
      try {
        live();
      } catch (error) {
        // Only what pages answers at once.
        if (paged.has(name)) throw error;
        return Promise.reject(error);
      }
      const answer = call(...args);
      return answer instanceof Promise
        ? answer.then((value) => {
            live();
            return value;
          })
        : answer;
    };
  const archives = new Proxy(deps.archives, {
    get: (store, name) => wrapped(Reflect.get(store, name).bind(store), name),
  });
  const exportJobs = new Proxy(deps.exportJobs, {
    get: (jobs, name) => wrapped(Reflect.get(jobs, name).bind(jobs), name),
  });
  return { ...deps, archives, exportJobs };
}
