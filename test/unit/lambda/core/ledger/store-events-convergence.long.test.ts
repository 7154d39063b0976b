import fc from 'fast-check';
import { expect, it } from 'vitest';
import { recordStoreEvents } from '../../../../../lambda/core/ledger/reconcile-requests.ts';
import { placeOf, type StoreChange } from '../../../../../lambda/core/ledger/rules/reservation.ts';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import { createPathScan } from '../../../../../lambda/core/scan/path-scan.ts';
import type { ObjectListing } from '../../../../../lambda/core/store/rules/store.ts';
import { MemoryStack, tenant } from '../../../../support/memory/stack.ts';

/** A change that does not come through the API, the delivery of an event, or the passing of time. */
type Step =
  | { kind: 'put' | 'remove'; repo: number; name: number; sizeBytes: number }
  /** Delivers one of the waiting events. One that is kept is delivered again later. */
  | { kind: 'deliver'; which: number; isKept: boolean }
  | { kind: 'pass'; ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('put' as const, 'remove' as const),
    repo: fc.nat({ max: 2 }),
    name: fc.nat({ max: 7 }),
    sizeBytes: fc.nat({ max: 100 }),
  }),
  fc.record({ kind: fc.constant('deliver' as const), which: fc.nat(), isKept: fc.boolean() }),
  fc.record({ kind: fc.constant('pass' as const), ms: fc.nat({ max: 30_000 }) }),
);

/** Steps before a reconcile, and steps between its pages. */
const rounds = fc.array(
  fc.record({ before: fc.array(step, { maxLength: 6 }), during: fc.array(step, { maxLength: 12 }) }),
  { minLength: 1, maxLength: 6 },
);
const clocks = fc.integer({ min: -defaultSettings.clockSkewMs, max: defaultSettings.clockSkewMs });

class Bucket {
  readonly world = new MemoryStack({ reconcileRestMs: 0, listRequestsPerHour: 1_000_000 });
  readonly #waiting: StoreChange[] = [];
  readonly #storeAheadMs: number;
  #during: Step[] = [];

  constructor(storeAheadMs: number) {
    this.#storeAheadMs = storeAheadMs;
  }

  async play(steps: readonly Step[]): Promise<void> {
    for (const each of steps) await this.#play(each);
  }

  /** Reconciles. Plays one step before and after each page is read, and the remaining steps after the reconcile. */
  async reconcile(during: readonly Step[]): Promise<void> {
    this.#during = [...during];
    const { deps, nowMs } = this.world;
    const between = async () => this.play(this.#during.splice(0, 1));
    const { objects } = this.world;
    const listing: ObjectListing = {
      listFolders: (request) => objects.listFolders(request),
      listPage: async (request) => {
        await between();
        const page = await objects.listPage({ ...request, maxKeys: 2 });
        await between();
        return page;
      },
    };
    const scan = createPathScan({ listing, clock: deps.clock, settings: deps.settings });
    const request = { tenant, reason: 'event', full: false } as const;
    await runReconcile({ ...deps, listing, scan }, { request, deadlineMs: nowMs + 14 * 60_000 });
    await this.play(this.#during.splice(0));
  }

  async deliverAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#play({ kind: 'deliver', which: 0, isKept: false });
  }

  async #play(each: Step): Promise<void> {
    const { world } = this;
    switch (each.kind) {
      case 'pass':
        world.nowMs += each.ms;
        return;
      case 'deliver': {
        if (this.#waiting.length === 0) return;
        const index = each.which % this.#waiting.length;
        const changes = each.isKept ? this.#waiting.slice(index, index + 1) : this.#waiting.splice(index, 1);
        await recordStoreEvents(world.deps, { tenant, changes });
        return;
      }
      default: {
        const key = `${tenant}/repo${each.repo}/${each.name}`;
        const place = placeOf(key);
        if (!place) throw new Error(`${key} belongs to no repo.`);
        const where = { ...place, atMs: world.nowMs + this.#storeAheadMs };
        if (each.kind === 'put') {
          world.objects.put(key, each.sizeBytes);
          this.#waiting.push({ ...where, kind: 'created', sizeBytes: each.sizeBytes });
        } else {
          await world.objects.delete([key]);
          this.#waiting.push({ ...where, kind: 'removed' });
        }
      }
    }
  }
}

it('a change that does not come through the API is counted once it was reported, in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(rounds, clocks, async (given, storeAheadMs) => {
      const bucket = new Bucket(storeAheadMs);
      const { world } = bucket;
      await world.create();
      for (const { before, during } of given) {
        await bucket.play(before);
        await bucket.reconcile(during);
      }
      await bucket.deliverAll();
      world.nowMs += 60_000;
      await bucket.reconcile([]);
      const page = await world.objects.listPage({ prefix: `${tenant}/` });
      const { scanned, committedBytes } = await world.record();
      expect(scanned).toMatchObject({ storedBytes: page.totalBytes, objectCount: page.keyCount });
      expect(committedBytes).toBe(page.totalBytes);
      expect(await allPages(world.ledger.reservations(tenant))).toEqual([]);
    }),
    { numRuns: 300 },
  );
});
