import { expect, it } from 'vitest';
import { lastPutMs } from '../../../../local/backup/restored.ts';
import { backupOf, restored } from '../../../support/memory/restored-stack.ts';
import { MemoryStack, minute, oidOf } from '../../../support/memory/stack.ts';
import { Random } from '../../../support/random.ts';

/** A world in which URLs are used at any time until none of theirs can land. */
class RandomWorld {
  readonly #random: Random;
  readonly #urls: { oid: string; sizeBytes: number; lapsedAtMs: number }[] = [];
  readonly #stored = new Map<string, number>();
  #stack = new MemoryStack();
  #count = 0;
  /** Admissions after which more was stored, or could be, than the limit. */
  violations = 0;
  admitted = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  async run(holdOf: (nowMs: number) => number): Promise<void> {
    await this.#stack.create(limit);
    await this.#steps(12);
    const items = backupOf(this.#stack);
    await this.#steps(this.#random.int(0, 12));
    this.#stack = restored(this.#stack, items, holdOf(this.#stack.nowMs));
    for (const [oid, sizeBytes] of this.#stored) this.#stack.put({ [`app/${oid}`]: sizeBytes });
    this.admitted = 0;
    await this.#steps(40);
  }

  async #steps(count: number): Promise<void> {
    for (let step = 0; step < count; step += 1) {
      this.#stack.nowMs += this.#random.int(0, 10 * minute);
      const [push, land, scan] = [() => this.#push(), () => this.#land(), () => this.#scan()];
      await this.#random.pick([push, push, land, scan])();
    }
  }

  async #push(): Promise<void> {
    this.#count += 1;
    const [oid, sizeBytes] = [oidOf(this.#count), this.#random.int(5, 60)];
    if ((await this.#stack.kinds('app', { [oid]: sizeBytes })) !== 'upload') return;
    const [reservation] = this.#stack.reservations.filter(({ entries }) => entries.has(oid));
    this.#urls.push({ oid, sizeBytes, lapsedAtMs: reservation?.lapsedAtMs ?? 0 });
    this.admitted += 1;
    const open = this.#urls.filter((url) => url.lapsedAtMs > this.#stack.nowMs && !this.#stored.has(url.oid));
    const sizes = [...this.#stored.values(), ...open.map((url) => url.sizeBytes)];
    if (sizes.reduce((sum, bytes) => sum + bytes, 0) > limit) this.violations += 1;
  }

  async #land(): Promise<void> {
    const open = this.#urls.filter(({ lapsedAtMs }) => lapsedAtMs > this.#stack.nowMs);
    if (open.length === 0) return;
    const { oid, sizeBytes } = this.#random.pick(open);
    this.#stored.set(oid, sizeBytes);
    this.#stack.put({ [`app/${oid}`]: sizeBytes });
  }

  async #scan(): Promise<void> {
    await this.#stack.consume({ full: this.#random.int(0, 1) === 1 });
  }
}

const limit = 200;
const seeds = 12;

it('exceeds no limit in any order of uploads, scans and backups', { timeout: 60_000 }, async () => {
  const sums = { held: 0, admitted: 0, tooEarly: 0 };
  for (let seed = 1; seed <= seeds; seed += 1) {
    const world = new RandomWorld(seed);
    await world.run(lastPutMs);
    sums.held += world.violations;
    sums.admitted += world.admitted;
    const early = new RandomWorld(seed);
    await early.run((nowMs) => nowMs);
    sums.tooEarly += early.violations;
  }
  expect(sums.held).toBe(0);
  // It takes uploads again, and without the wait it would take too many.
  expect(sums.admitted).toBeGreaterThan(seeds);
  expect(sums.tooEarly).toBeGreaterThan(0);
});
