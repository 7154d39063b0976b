import { beforeEach, describe, expect, it } from 'vitest';
import {
  fitsBeside,
  type LimitState,
  limitsOf,
  type Refusal,
  refusalOf,
} from '../../../../../../lambda/core/ledger/rules/limits.ts';
import type { TenantRecord } from '../../../../../../lambda/core/ledger/rules/tenant.ts';
import { runReconcile } from '../../../../../../lambda/core/ledger/run-reconcile.ts';
import { storageLimitReached } from '../../../../../../lambda/subjects/lfs/messages.ts';
import { reservation } from '../../../../../support/ledger-records.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../../support/memory/stack.ts';
import { updateTenant } from '../../../../../support/over-settings.ts';
import { tenantRecord } from '../../../../../support/tenant-record.ts';

const scanned = { storedBytes: 40, objectCount: 1, scannedAtMs: 1 };
const floor = { confirmedBaseBytes: 45, confirmedUntilMs: 10, deletedBytes: 5 };
const known = { scanned, ...floor, committedBytes: 60 };
const ofRepo = { committedBytes: 20, storedBytes: 10, confirmedBaseBytes: 18, confirmedUntilMs: 7 };
const limited = (found: typeof ofRepo | null = ofRepo) =>
  new Map([['app', { limitBytes: 30, scanned: found }]]);

const limits = (record: Partial<TenantRecord>, more: { repo?: string; nowMs?: number } = {}) =>
  limitsOf(tenantRecord(record), { repo: 'app', nowMs: 5, ...more });

describe('the limits of a batch', () => {
  it('are that of its tenant alone if its repo has none', () => {
    const ofTenant = { repo: null, limitBytes: 100, provenBytes: 40, scannedBytes: 40, committedBytes: 60 };
    expect(limits(known)).toEqual([ofTenant]);
    expect(limits({ ...known, repoLimits: limited() }, { repo: 'web' })).toEqual([ofTenant]);
  });

  it('are that of its repo, too, with what is known of the repo', () => {
    const [, limit] = limits({ ...known, repoLimits: limited() });
    expect(limit).toEqual({
      repo: 'app',
      limitBytes: 30,
      // What was deleted in the tenant since it was counted may have been in the repo.
      provenBytes: 13,
      scannedBytes: 10,
      committedBytes: 20,
    });
  });

  it('prove nothing once their confirmed usages are over, each in its time', () => {
    const proven = (nowMs: number) =>
      limits({ ...known, repoLimits: limited() }, { nowMs }).map(({ provenBytes }) => provenBytes);
    expect(proven(6)).toEqual([40, 13]);
    expect(proven(7)).toEqual([40, undefined]);
    expect(proven(10)).toEqual([undefined, undefined]);
  });

  it('know nothing of what was not counted', () => {
    const [ofTenant, limit] = limits({ scanned: null, repoLimits: limited(null) });
    const unknown = { provenBytes: undefined, scannedBytes: 0, committedBytes: undefined };
    expect(ofTenant).toMatchObject(unknown);
    expect(limit).toMatchObject(unknown);
  });

  it('are 2^53 − 1 for a tenant without a limit, counted or not', () => {
    const unlimited = { limitBytes: null, committedBytes: 7 };
    for (const of of [null, scanned])
      expect(limits({ ...unlimited, scanned: of })).toMatchObject([
        { limitBytes: Number.MAX_SAFE_INTEGER, committedBytes: 7 },
      ]);
  });
});

describe('so much more fits', () => {
  const fits = (record: Partial<TenantRecord>, bytes: number) => fitsBeside(limits(record), bytes);

  it('if it does below each limit', () => {
    expect([fits(known, 40), fits(known, 41)]).toEqual([true, false]);
    const both = { ...known, repoLimits: limited() };
    expect([fits(both, 10), fits(both, 11)]).toEqual([true, false]);
    expect(fits({ ...both, committedBytes: 95 }, 6)).toBe(false);
  });

  it('never if one of them was not counted', () => {
    expect(fits({ ...known, repoLimits: limited(null) }, 0)).toBe(false);
    expect(fits({ scanned: null }, 0)).toBe(false);
  });
});

/** From a reservation of small objects to its death: 30 min of URL, 1 of slack, 5 of grace, 1 ms to send it, 10 s of clocks. */
const lifeMs = 36 * minute + 10_001;

describe('a refusal', () => {
  let world: MemoryStack;
  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(1000);
  });

  /** The refusal of a batch, and what a person reads of each refused object, in the order of the request. */
  const refused = async (objects: Record<string, number>) => {
    const verdicts = await world.push('app', objects);
    if (typeof verdicts === 'string') throw new Error(verdicts);
    const found = [...verdicts].flatMap(([oid, verdict]) =>
      verdict.kind === 'over-limit' ? [{ oid, refusal: verdict.refusal }] : [],
    );
    const messages = new Map(
      found.map(({ oid, refusal }) => [
        oid,
        storageLimitReached({
          tenant,
          oid,
          refusal,
          nowMs: world.nowMs,
          consoleUrl: 'https://lfs.example.com/#acme',
        }),
      ]),
    );
    return { refusal: found[0]?.refusal as Refusal, messages };
  };

  it('by reservations alone says until when, and not to delete', async () => {
    world.nowMs = Date.parse('2027-03-01T19:30:00Z');
    await world.push('app', { [oidOf(1)]: 900 });
    await world.consume();
    world.nowMs += minute;
    const { refusal, messages } = await refused({ [oidOf(2)]: 200 });
    expect(refusal).toEqual({
      oids: [oidOf(2)],
      askedCount: 1,
      repo: null,
      limitBytes: 1000,
      storedBytes: 0,
      reservedBytes: 900,
      reservedUntilMs: world.nowMs - minute + lifeMs,
      refusedBytes: 200,
      missingBytes: 100,
      isWaitingEnough: true,
    });
    expect([...messages.values()]).toEqual([
      "Storage limit reached: acme uses 900 B of 1000 B (0 B stored, 900 B uploading). 1 of 1 file doesn't fit: 100 B " +
        "short. If the other uploads don't finish by 20:07 UTC, their space is free again. Push again then, or ask " +
        'your admin for a higher limit.',
    ]);
  });

  it('tells all of it once, and the rest in one line each', async () => {
    world.put({ [`app/${oidOf(1)}`]: 400 });
    await world.consume({ full: true });
    const objects = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [oidOf(index + 2), 700]));
    const { refusal, messages } = await refused(objects);
    expect(refusal).toMatchObject({
      storedBytes: 400,
      reservedBytes: 0,
      reservedUntilMs: null,
      missingBytes: 400 + 150 * 700 - 1000,
    });
    const [first = '', ...others] = [...messages.values()];
    expect(first).toBe(
      "Storage limit reached: acme uses 400 B of 1000 B. 150 of 150 files don't fit: 101.95 KiB short. Free up space or " +
        'ask your admin for a higher limit, then push again: https://lfs.example.com/#acme.',
    );
    expect(new Set(others)).toEqual(new Set(['Storage limit reached (see above).']));
    expect([...messages.values()].join('\n').length).toBeLessThan(12_000);
  });

  it('counts what this batch got among the uploads in progress, and sends nobody to wait in vain', async () => {
    world.nowMs = Date.parse('2027-03-01T23:50:00Z');
    world.put({ [`app/${oidOf(1)}`]: 400 });
    await world.consume({ full: true });
    const { refusal, messages } = await refused({ [oidOf(2)]: 500, [oidOf(3)]: 101, [oidOf(4)]: 50 });
    expect(refusal).toMatchObject({
      oids: [oidOf(3)],
      askedCount: 3,
      storedBytes: 400,
      reservedBytes: 550,
      reservedUntilMs: world.nowMs + lifeMs,
      missingBytes: 51,
      isWaitingEnough: false,
    });
    const message = messages.get(oidOf(3));
    expect(message).toContain('acme uses 950 B of 1000 B (400 B stored, 550 B uploading)');
    expect(message).toContain("1 of 3 files doesn't fit: 51 B short. Free up space or ask your admin");
  });

  it('without a confirmed usage tells what was last counted', async () => {
    world.put({ [`app/${oidOf(1)}`]: 400 });
    await world.consume({ full: true });
    await updateTenant(world.ledger, { tenant, limitBytes: 300 });
    expect((await refused({ [oidOf(2)]: 301 })).refusal).toMatchObject({
      storedBytes: 400,
      reservedBytes: 0,
      missingBytes: 401,
    });
  });

  it('after a delete that no count has seen tells no more than is proven', async () => {
    world.put({ [`app/${oidOf(1)}`]: 900 });
    await world.consume({ full: true });
    const note = { repo: 'app', bytes: 300, deadlineMs: world.nowMs + minute };
    await world.ledger.announceDelete({ tenant, intentId: 'n', note });
    expect((await refused({ [oidOf(2)]: 500 })).refusal).toMatchObject({
      storedBytes: 600,
      reservedBytes: 0,
      missingBytes: 100,
    });
  });

  describe('that a reconcile meets', () => {
    /** Refuses one object, with a reconcile right before the answer is given, or right before the batch. */
    const refusedBeside = async (when: 'batch' | 'answer') => {
      world.put({ [`app/${oidOf(1)}`]: 900 });
      await world.consume({ full: true });
      if (when === 'batch') await world.consume();
      else
        world.beforeNext('deleteReservation', async () => {
          await world.consume();
        });
      world.requests.length = 0;
      await refused({ [oidOf(2)]: 200 });
    };

    it('shows what was refused as reserved, and is repeated', async () => {
      await refusedBeside('answer');
      expect((await world.usage()).committedBytes).toBe(1100);
      expect(world.requests).toEqual([{ tenant, reason: 'upload', full: false }]);
      await world.consume();
      expect((await world.usage()).committedBytes).toBe(900);
    });

    it('is repeated after the part that is admitted was issued', async () => {
      world.put({ [`app/${oidOf(1)}`]: 900 });
      await world.consume({ full: true });
      world.beforeNext('issueReservation', async () => {
        await world.consume();
        world.requests.length = 0;
      });
      await refused({ [oidOf(2)]: 50, [oidOf(3)]: 200 });
      expect((await world.usage()).committedBytes).toBe(1150);
      expect(world.requests).toEqual([{ tenant, reason: 'upload', full: false }]);
      await world.consume();
      expect((await world.usage()).committedBytes).toBe(950);
    });

    it('is not repeated if it was over before the batch began', async () => {
      await refusedBeside('batch');
      expect((await world.usage()).committedBytes).toBe(900);
      expect(world.requests).toEqual([]);
    });

    describe('because the batch made it itself', () => {
      beforeEach(() => {
        world.put({ [`app/${oidOf(1)}`]: 900 });
        // The counter is too high, and no confirmed usage proves it.
        world.ledger.addUnconditionally(tenant, 900);
      });

      it('is not repeated: it left the batch out', async () => {
        const { epoch } = await world.record();
        await world.ledger.markDirty({ tenant, repo: 'app', dirtyToken: 'changed' });
        await refused({ [oidOf(2)]: 200 });
        expect(await world.record()).toMatchObject({ epoch: epoch + 1, committedBytes: 900 });
        expect(world.requests).toEqual([]);
      });

      it('is repeated if another one followed it', async () => {
        await world.ledger.markDirty({ tenant, repo: 'app', dirtyToken: 'changed' });
        world.beforeNext('deleteReservation', async () => {
          await world.consume();
        });
        await refused({ [oidOf(2)]: 200 });
        expect((await world.usage()).committedBytes).toBe(1100);
        expect(world.requests).toEqual([{ tenant, reason: 'upload', full: false }]);
      });
    });

    it('uses up nothing that is kept for those who wait, though a full tenant is pushed to for ever', async () => {
      // A LIST uses up 5 minutes.
      world = new MemoryStack({ reconcileRestMs: minute, listRequestsPerHour: 12 });
      await world.create(1000);
      world.put({ [`app/${oidOf(1)}`]: 900 });
      await world.consume({ full: true });
      world.nowMs += 60 * minute;
      let reconciles = 0;
      const overdrawnMs: number[] = [];
      world.requests.push({ tenant, reason: 'upload', full: false });
      for (const endMs = world.nowMs + 2 * 60 * minute; world.nowMs < endMs; world.nowMs += 45_000) {
        // Whatever is asked for runs while the next push is refused, and reads what that has reserved.
        const request = world.requests.splice(0).at(-1);
        world.beforeNext('deleteReservation', async () => {
          const { epoch } = await world.record();
          if (request) await runReconcile(world.deps, { request, deadlineMs: world.nowMs + minute });
          if ((await world.record()).epoch > epoch) reconciles += 1;
        });
        await refused({ [oidOf(2)]: 200 });
        overdrawnMs.push((await world.record()).listedUntilMs - world.nowMs);
      }
      expect(reconciles).toBeGreaterThan(2 * 6);
      expect(Math.max(...overdrawnMs)).toBeLessThanOrEqual(10 * minute);
    });
  });
});

describe('the numbers of a refusal', () => {
  /** The own reservation is lapsed at 70, and those of others at 90. The limit is 100 bytes. */
  const told = (more: {
    scannedBytes: number;
    provenBytes?: number;
    grantedBytes?: number;
    refusedBytes?: number;
    ofRepo?: LimitState;
  }) => {
    const { scannedBytes, provenBytes, grantedBytes = 0, refusedBytes = 100, ofRepo } = more;
    const ofTenant = { repo: null, limitBytes: 100, provenBytes, scannedBytes, committedBytes: 0 };
    return refusalOf({
      reservation: reservation('r', { lapsedAtMs: 70 }),
      tenant: tenantRecord({ reservedUntilMs: 90 }),
      limits: ofRepo ? [ofTenant, ofRepo] : [ofTenant],
      refused: new Map([['b', refusedBytes]]),
      grantedBytes,
    });
  };

  it('are those of the last count, and what was granted, if nothing is proven', () => {
    const parts = { storedBytes: 40, reservedBytes: 10, reservedUntilMs: 70 };
    expect(told({ scannedBytes: 40, grantedBytes: 10 })).toMatchObject(parts);
    expect(told({ scannedBytes: 0, grantedBytes: 10 })).toMatchObject({ ...parts, storedBytes: 0 });
  });

  it('show no more stored than is proven, beside what was granted', () => {
    expect(told({ scannedBytes: 50, provenBytes: 35, grantedBytes: 10 })).toMatchObject({
      storedBytes: 35,
      reservedBytes: 10,
      reservedUntilMs: 70,
    });
  });

  it('say until when others may take room only if they do', () => {
    expect(told({ scannedBytes: 50, provenBytes: 50 }).reservedUntilMs).toBeNull();
    expect(told({ scannedBytes: 50, provenBytes: 51 }).reservedUntilMs).toBe(90);
    expect(told({ scannedBytes: 50, provenBytes: 51, grantedBytes: 10 }).reservedUntilMs).toBe(90);
  });

  it('say that waiting is enough if others hold all that is missing', () => {
    const enough = (refusedBytes: number) => {
      const { missingBytes, isWaitingEnough } = told({
        scannedBytes: 50,
        provenBytes: 70,
        grantedBytes: 10,
        refusedBytes,
      });
      return [missingBytes, isWaitingEnough];
    };
    expect(enough(40)).toEqual([20, true]);
    expect(enough(41)).toEqual([21, false]);
  });

  it('are those of the limit by which the most is missing, and say whose it is', () => {
    const ofRepo = { repo: 'app', limitBytes: 60, provenBytes: 30, scannedBytes: 30, committedBytes: 30 };
    const parts = { repo: 'app', limitBytes: 60, storedBytes: 30, missingBytes: 20 };
    expect(told({ scannedBytes: 50, provenBytes: 50, refusedBytes: 50, ofRepo })).toMatchObject(parts);
    expect(told({ scannedBytes: 90, provenBytes: 90, refusedBytes: 50, ofRepo })).toMatchObject({
      repo: null,
      limitBytes: 100,
      missingBytes: 40,
    });
  });
});
