import { setImmediate as nextTurn } from 'node:timers/promises';
import { compareKeys } from '../../lambda/core/rules/names.ts';
import type { Level, LevelRange, LevelWrite } from '../../local/table/level-store.ts';

/** What LevelDB says of a full disk. */
export const noSpace = () =>
  Object.assign(new Error('IO error: table/000003.log: No space left on device'), { code: 'LEVEL_IO_ERROR' });

/**
 * A disk under the table, with LevelDB on it: what isn't synced is in memory alone, and a power cut forgets it. It fails
 * on demand.
 */
export class LevelDisk {
  /** What a power cut leaves. */
  readonly synced = new Map<string, string>();
  fails: (() => Error) | undefined;
  /** After so many batches it is full. */
  batchesLeft = Number.POSITIVE_INFINITY;
  opensAgain = true;
  opened = 0;
  probed = 0;
  /** Items that were read one by one. */
  gets = 0;
  nowMs = 0;
  /** All batches that were written. */
  readonly written: (readonly LevelWrite[])[] = [];
  readonly #turns: () => number;
  #hasPower = true;

  /** @param turns how many turns a batch or a read takes. */
  constructor(turns: () => number = () => 1) {
    this.#turns = turns;
  }

  /** For {@link LevelStore.open}. */
  get options() {
    return {
      open: async () => this.#open(),
      probe: async () => {
        this.probed += 1;
        if (this.fails?.().message === noSpace().message) throw noSpace();
      },
      nowMs: () => this.nowMs,
    };
  }

  /** Nothing is written any more, or answered. */
  cutPower(): void {
    this.#hasPower = false;
  }

  #open(): Level {
    this.opened += 1;
    if (this.opened > 1 && !this.opensAgain) throw noSpace();
    const inMemory = new Map(this.synced);
    let isOpen = true;
    return {
      getSync: (key) => {
        this.gets += 1;
        return inMemory.get(key);
      },
      iterator: (range) => {
        const left = entriesIn(inMemory, range);
        return {
          nextv: async (count) => {
            await this.#take();
            if (!isOpen) throw new Error('The iterator is not open.');
            return left.splice(0, count);
          },
          close: async () => {},
        };
      },
      close: async () => {
        isOpen = false;
      },
      batch: async (writes, { sync }) => {
        await this.#take();
        if (!isOpen) throw new Error('The database is not open.');
        if (!this.#hasPower) return new Promise(() => {});
        this.batchesLeft -= 1;
        if (this.batchesLeft < 0) this.fails ??= noSpace;
        if (this.fails !== undefined) throw this.fails();
        this.written.push(writes);
        apply(writes, inMemory);
        if (!sync) return;
        for (const key of this.synced.keys()) if (!inMemory.has(key)) this.synced.delete(key);
        for (const [key, value] of inMemory) this.synced.set(key, value);
        // The disk has it, but nobody has heard of that.
        await this.#take();
        if (!this.#hasPower) return new Promise(() => {});
      },
    };
  }

  async #take(): Promise<void> {
    for (let turn = this.#turns(); turn > 0; turn -= 1) await nextTurn();
  }
}

function apply(writes: readonly LevelWrite[], to: Map<string, string>): void {
  for (const write of writes) {
    if (write.type === 'put') to.set(write.key, write.value);
    else to.delete(write.key);
  }
}

function entriesIn(all: ReadonlyMap<string, string>, range: LevelRange): [string, string][] {
  const { gt, gte, lt, reverse, limit } = range;
  const isIn = (key: string) =>
    (gt === undefined || compareKeys(key, gt) > 0) &&
    (gte === undefined || compareKeys(key, gte) >= 0) &&
    compareKeys(key, lt) < 0;
  const found = [...all].filter(([key]) => isIn(key)).sort(([a], [b]) => compareKeys(a, b));
  return (reverse ? found.reverse() : found).slice(0, limit);
}
