import { describe, expect, it } from 'vitest';
import { LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import type { Downloads } from '../../../../../lambda/subjects/downloads/download-store.ts';
import {
  type OfferPubliclyOutcome,
  offerPublicly,
} from '../../../../../lambda/subjects/downloads/lfs/public-offers.ts';
import { offerDownload } from '../../../../../lambda/subjects/lfs/downloads.ts';
import type { OfferDownloadOutcome } from '../../../../../lambda/subjects/lfs/seams.ts';
import { ScanningDeps } from '../../../../support/memory/counting-deps.ts';
import { ManualClock, memoryDeps, replacingDeps } from '../../../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { Random } from '../../../../support/random.ts';
import { MemoryDownloads } from '../../../../support/subjects/downloads/in-memory.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

const oids = Array.from({ length: 12 }, (_, index) => index.toString(16).repeat(64));
const limitBytes = 1_000;

/** A tenant, of which things fail at random, and what it was really offered. */
class World {
  readonly #random: Random;
  readonly #objects = new MemoryObjectStore();
  readonly #clock = new ManualClock();
  readonly downloads = new MemoryDownloads();
  readonly deps;
  readonly offered = { bytes: 0, objects: 0 };
  outcomes: Record<string, number> = {};

  constructor(random: Random) {
    this.#random = random;
    // The last four aren't stored.
    for (const [index, oid] of oids.slice(0, 8).entries()) this.#objects.put(`acme/game/${oid}`, 10 * index);
    const deps = memoryDeps({ objects: this.#objects, clock: this.#clock });
    const { signer, ledger } = deps;
    const head = this.#objects.head.bind(this.#objects);
    this.#objects.head = (key) => this.#orFail(new StoreUnavailableError('Down.'), () => head(key));
    const listPage = this.#objects.listPage.bind(this.#objects);
    this.#objects.listPage = (request) =>
      this.#orFail(new StoreUnavailableError('Down.'), () => listPage(request));
    const goneOf = ledger.goneOf.bind(ledger);
    ledger.goneOf = (input) => this.#orFail(new Error('A mistake of ours.'), () => goneOf(input));
    this.deps = replacingDeps(deps, {
      downloads: this.#failingDownloads(),
      signer: {
        ...signer,
        signDownload: (input: Parameters<typeof signer.signDownload>[0]) =>
          this.#orFail(new Error('No credentials.'), () => signer.signDownload(input)),
      },
    });
  }

  /** Writes fail before they take effect. One that is lost after it is repeated by the adapter, and counts once. */
  #failingDownloads(): Downloads {
    const { downloads } = this;
    const down = new LedgerUnavailableError('Down.');
    return {
      meter: (offer) => this.#orFail(down, () => downloads.meter(offer)),
      addToDay: (offer) => this.#orFail(down, () => downloads.addToDay(offer)),
      meterPublic: (offer) => this.#orFail(down, () => downloads.meterPublic(offer)),
      correctPublic: (difference) => downloads.correctPublic(difference),
      publicMonth: (input) => this.#orFail(down, () => downloads.publicMonth(input)),
      month: (input) => this.#orFail(down, () => downloads.month(input)),
      months: (input) => downloads.months(input),
      days: (input) => downloads.days(input),
    };
  }

  async #orFail<T>(error: Error, run: () => Promise<T>): Promise<T> {
    await Promise.resolve();
    if (this.#random.chance(0.03)) throw error;
    return run();
  }

  async batch(): Promise<void> {
    const objects = new Map(
      Array.from({ length: this.#random.int(1, 4) }, () => {
        const index = this.#random.int(0, oids.length - 1);
        const sizeBytes = this.#random.chance(0.2) ? this.#random.int(0, 10_000) : 10 * index;
        return [oids[index] ?? '', sizeBytes] as const;
      }),
    );
    const input = {
      tenant: tenantRecord({ downloadLimitBytes: limitBytes }),
      repoObjects: undefined,
      objects,
    };
    const publicRead = { repo: 'game', monthlyLimitBytes: 90_000, sinceMs: 1 };
    const outcome = await (this.#random.chance(0.5)
      ? offerPublicly(this.deps, { ...input, publicRead })
      : offerDownload(this.deps, { ...input, tokenId: 't', repo: 'game' })
    ).catch(() => ({ kind: 'failed' as const }));
    this.outcomes[outcome.kind] = (this.outcomes[outcome.kind] ?? 0) + 1;
    if (outcome.kind === 'answered') this.#note(outcome, objects);
  }

  #note(
    { verdicts }: Extract<OfferDownloadOutcome, { kind: 'answered' }>,
    objects: ReadonlyMap<string, number>,
  ): void {
    for (const [oid, { kind }] of verdicts)
      if (kind === 'download') {
        this.offered.bytes += objects.get(oid) ?? 0;
        this.offered.objects += 1;
      }
  }

  get month(): string {
    return new Date(this.#clock.nowMs()).toISOString().slice(0, 7);
  }
}

describe('what is metered', () => {
  it('is what is offered, whatever fails and whatever is asked for, with many at a time', async () => {
    const outcomes: Record<string, number> = {};
    for (let seed = 0; seed < 60; seed += 1) {
      const world = new World(new Random(seed));
      for (let round = 0; round < 6; round += 1)
        await Promise.all(Array.from({ length: 5 }, () => world.batch()));
      const { month } = world;
      expect({ seed, ...(await world.downloads.month({ tenant: 'acme', month })) }).toEqual({
        seed,
        ...world.offered,
      });
      expect(world.offered.bytes).toBeLessThanOrEqual(limitBytes);
      for (const [kind, count] of Object.entries(world.outcomes))
        outcomes[kind] = (outcomes[kind] ?? 0) + count;
    }
    for (const kind of ['answered', 'over-limit', 'over-ceiling', 'failed'])
      expect(outcomes[kind]).toBeGreaterThan(10);
  });
});

describe('after authentication, a batch of downloads', () => {
  const roundTripMs = 10;
  const measured = async (downloadLimitBytes: number | null, isPublic: boolean) => {
    const made = new ScanningDeps({ tableMs: roundTripMs, headMs: roundTripMs, listMs: roundTripMs });
    const objects = new Map(oids.slice(1, 5).map((oid, index) => [oid, 10 + index]));
    for (const [oid, sizeBytes] of objects) made.store.put(`acme/game/${oid}`, sizeBytes);
    const input = {
      tenant: tenantRecord({ downloadLimitBytes }),
      repo: 'game',
      repoObjects: undefined,
      objects,
    };
    const publicRead = { repo: 'game', monthlyLimitBytes: 1e6, sinceMs: 1 };
    const { result, elapsedMs } = await made.measure<OfferPubliclyOutcome>(() =>
      isPublic
        ? offerPublicly(made.deps, { ...input, publicRead })
        : offerDownload(made.deps, { ...input, tokenId: 't' }),
    );
    expect(result.kind).toBe('answered');
    return {
      roundTrips: elapsedMs / roundTripMs,
      writes: made.calls.filter(({ name }) => /^(meter|add)/.test(name)).length,
    };
  };

  it.each([
    ['without a limit takes two round trips', null, false, { roundTrips: 2, writes: 2 }],
    ['with a limit takes three', 1e6, false, { roundTrips: 3, writes: 2 }],
    ['without a token takes two more', 1e6, true, { roundTrips: 5, writes: 3 }],
  ])('%s', async (_, limit, isPublic, expected) => {
    expect(await measured(limit, isPublic)).toEqual(expected);
  });
});
