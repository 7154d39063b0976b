import { expect, it } from 'vitest';
import { markObject } from '../../../../lambda/core/ledger/deletes.ts';
import { lastPutMs } from '../../../../local/backup/restored.ts';
import { backupOf, restored } from '../../../support/memory/restored-stack.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../support/memory/stack.ts';
import { Random } from '../../../support/random.ts';

/** A world in which URLs are used at any time until none of theirs can land, and backups are of any moment. */
class RandomWorld {
  readonly #random: Random;
  readonly #urls: { oid: string; sizeBytes: number; lapsedAtMs: number }[] = [];
  readonly #sizes = new Map<string, number>();
  #stack = new MemoryStack();
  #count = 0;
  /** Admissions after which more was stored, or could be, than the limit. */
  violations = 0;
  admitted = 0;
  deleted = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  async run(holdOf: (nowMs: number) => number): Promise<void> {
    await this.#stack.create(limit);
    for (let restores = this.#random.int(1, 2); restores > 0; restores -= 1) {
      await this.#steps(this.#random.int(0, 4));
      const items = await this.#backup();
      const stored = await this.#stored();
      this.#stack = restored(this.#stack, items, holdOf(this.#stack.nowMs));
      for (const [oid, sizeBytes] of stored) this.#stack.put({ [`app/${oid}`]: sizeBytes });
      this.admitted = 0;
    }
    await this.#steps(40);
  }

  /** The table after one of the next writes, which may be in the middle of anything. Then the world goes on for a while. */
  async #backup(): Promise<readonly object[]> {
    let items: readonly object[] | undefined;
    let writes = this.#random.int(1, 8);
    this.#stack.ledger.table.store.watch(() => {
      writes -= 1;
      if (writes === 0) items = backupOf(this.#stack);
    });
    await this.#steps(this.#random.int(2, 8));
    return items ?? backupOf(this.#stack);
  }

  async #steps(count: number): Promise<void> {
    for (let step = 0; step < count; step += 1) {
      this.#stack.nowMs += this.#random.int(0, 10 * minute);
      const [push, land, scan] = [() => this.#push(), () => this.#land(), () => this.#scan()];
      const acts = [push, push, push, push, push, land, land, scan, scan, () => this.#delete()];
      await this.#random.pick(acts)();
    }
  }

  /** What is in the bucket. */
  async #stored(): Promise<ReadonlyMap<string, number>> {
    const oids = (await this.#stack.keys()).map((key) => key.slice(key.lastIndexOf('/') + 1));
    return new Map(oids.map((oid) => [oid, this.#sizes.get(oid) ?? 0]));
  }

  async #push(): Promise<void> {
    this.#count += 1;
    const [oid, sizeBytes] = [oidOf(this.#count), this.#random.int(5, 60)];
    if ((await this.#stack.kinds('app', { [oid]: sizeBytes })) !== 'upload') return;
    const [reservation] = this.#stack.reservations.filter(({ entries }) => entries.has(oid));
    this.#urls.push({ oid, sizeBytes, lapsedAtMs: reservation?.lapsedAtMs ?? 0 });
    this.admitted += 1;
    this.#sizes.set(oid, sizeBytes);
    const stored = await this.#stored();
    const open = this.#urls.filter((url) => url.lapsedAtMs > this.#stack.nowMs && !stored.has(url.oid));
    const sizes = [...stored.values(), ...open.map((url) => url.sizeBytes)];
    if (sizes.reduce((sum, bytes) => sum + bytes, 0) > limit) this.violations += 1;
  }

  async #land(): Promise<void> {
    const open = this.#urls.filter(({ lapsedAtMs }) => lapsedAtMs > this.#stack.nowMs);
    if (open.length === 0) return;
    const { oid, sizeBytes } = this.#random.pick(open);
    this.#stack.put({ [`app/${oid}`]: sizeBytes });
  }

  /** Grace times end during scans. */
  async #delete(): Promise<void> {
    const stored = [...(await this.#stored()).keys()];
    if (stored.length > 0)
      await markObject(this.#stack.deps, {
        tenant,
        repo: 'app',
        oid: this.#random.pick(stored),
        dryRun: false,
      });
  }

  async #scan(): Promise<void> {
    const before = (await this.#stack.keys()).length;
    await this.#stack.consume({ full: this.#random.int(0, 1) === 1 });
    this.deleted += before - (await this.#stack.keys()).length;
  }
}

const limit = 200;
const seeds = process.env['NIGHTLY'] ? 400 : 12;

it('exceeds no limit in any order of uploads, scans, deletes and backups', {
  timeout: 60 * 60_000,
}, async () => {
  const sums = { held: 0, admitted: 0, deleted: 0, tooEarly: 0 };
  for (let seed = 1; seed <= seeds; seed += 1) {
    const world = new RandomWorld(seed);
    await world.run(lastPutMs);
    sums.held += world.violations;
    sums.admitted += world.admitted;
    sums.deleted += world.deleted;
    const early = new RandomWorld(seed);
    await early.run((nowMs) => nowMs);
    sums.tooEarly += early.violations;
  }
  expect(sums.held).toBe(0);
  // It takes uploads again, and without the wait it would take too many.
  expect(sums.admitted).toBeGreaterThan(seeds);
  expect(sums.deleted).toBeGreaterThan(seeds / 2);
  expect(sums.tooEarly).toBeGreaterThan(0);
});
