import { beforeEach, describe, expect, it, vi } from 'vitest';
import { reconcile } from '../../../../../lambda/use-cases/recounts/reconcile.ts';
import { functionSpecs } from '../../../../../lib/functions/function-specs.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { updateTenant } from '../../../../support/over-settings.ts';

/** A reservation of small objects is dead then, by every clock. */
const deathMs = 37 * minute;
const hour = 60 * minute;

describe('what is late of a tenant with very many claims', () => {
  let world: MemoryStack;
  const reservations = () => world.ledger.inspect(tenant).reservations;
  const reserved = () =>
    reservations().map(({ repo, objectCount, claims }) => ({
      repo,
      objectCount,
      bytes: [...claims.values()],
    }));
  /** Batches of three objects of 2 bytes that are never sent. */
  const pushUnsent = async (batches: number, from = 0) => {
    for (let index = from; index < from + batches; index += 1) {
      const objects = [0, 1, 2].map((object) => [oidOf(10 * index + object), 2]);
      await world.push(`repo${index % 2}`, Object.fromEntries(objects));
    }
  };

  beforeEach(async () => {
    world = new MemoryStack({ lateClaimsMax: 100 });
    await world.create(10_000);
  });

  it('keeps its names up to the bound', async () => {
    await pushUnsent(25);
    world.nowMs += deathMs;
    await world.consume();
    expect(reservations()).toHaveLength(25);
    expect(reservations().every(({ claims }) => claims.size === 3)).toBe(true);
  });

  it('becomes one sum a repo beyond it, and frees the claims', async () => {
    await pushUnsent(26);
    world.nowMs += deathMs;
    await world.consume();
    expect(reserved()).toEqual([
      { repo: 'repo0', objectCount: 39, bytes: [78] },
      { repo: 'repo1', objectCount: 39, bytes: [78] },
    ]);
    await world.consume();
    expect((await world.record()).claimCount).toBe(4);
    expect(await world.usage()).toEqual({ committedBytes: 0, storedBytes: 0 });
  });

  it('is no sum of what was seen, nor of a sum that is looked at again', async () => {
    await pushUnsent(26);
    await world.push('repo0', { [oidOf(999)]: 1 });
    world.put({ [`repo0/${oidOf(999)}`]: 1 });
    world.nowMs += deathMs;
    await world.consume();
    const sums = reservations();
    expect(sums.map(({ objectCount }) => objectCount)).toEqual([39, 39]);
    // Enough claims for other sums.
    await pushUnsent(26, 100);
    world.nowMs += 11 * minute;
    await world.consume();
    const later = reservations().filter(({ objectCount }) => objectCount !== undefined);
    expect(later.map(({ id }) => id)).toEqual(sums.map(({ id }) => id));
    expect(later.every(({ lookAtMs }, index) => (lookAtMs ?? 0) > (sums[index]?.lookAtMs ?? 0))).toBe(true);
  });

  it('is at most a hundred reservations in a sum', async () => {
    await pushUnsent(404);
    world.nowMs += deathMs;
    await world.consume();
    const counts = reserved().map(({ objectCount }) => objectCount ?? 0);
    expect(counts.sort((a, b) => a - b)).toEqual([6, 6, 300, 300, 300, 300]);
  });

  it('still counts beyond the limit, for a day and no longer, however many become late meanwhile', async () => {
    world = new MemoryStack({ lateClaimsMax: 100 });
    await world.create(1000);
    for (let round = 0; round < 30; round += 1) {
      await pushUnsent(100, 100 * round);
      world.nowMs += deathMs;
      await world.runSchedule();
      expect((await world.record()).committedBytes).toBeLessThanOrEqual(1000);
    }
    expect(reservations().length).toBeLessThan(20);
    const refused = await world.push('last', { [oidOf(1)]: 900 });
    expect(refused).toEqual(new Map([[oidOf(1), expect.objectContaining({ kind: 'over-limit' })]]));
    await world.pass(26 * hour);
    expect(reservations()).toEqual([]);
    expect(await world.usage()).toEqual({ committedBytes: 0, storedBytes: 0 });
  });

  it('is deleted after its sum is written, so that a crash counts too much rather than too little', async () => {
    await pushUnsent(26);
    world.nowMs += deathMs;
    const { deleteReservation } = world.ledger;
    let deletes = 0;
    world.ledger.deleteReservation = async (input) => {
      deletes += 1;
      if (deletes > 5) throw new Error('The function died.');
      return deleteReservation.call(world.ledger, input);
    };
    await expect(world.consume()).rejects.toThrow('died');
    const bytesOf = () =>
      reserved()
        .flatMap(({ bytes }) => bytes)
        .reduce((sum, size) => sum + size, 0);
    expect(bytesOf()).toBeGreaterThan(26 * 6);
    // Whoever comes next counts once what the sum stands for, and deletes it.
    world.ledger.deleteReservation = deleteReservation;
    await world.consume();
    expect(bytesOf()).toBe(26 * 6);
  });

  it('is counted once while its sum is being written: what fits is not refused', async () => {
    await updateTenant(world.ledger, { tenant, limitBytes: 26 * 6 });
    await pushUnsent(26);
    world.nowMs += deathMs;
    const { deleteReservation } = world.ledger;
    let committed: number | undefined;
    world.ledger.deleteReservation = async (input) => {
      world.ledger.deleteReservation = deleteReservation;
      await reconcile(world.deps, { tenant, full: false });
      committed = (await world.record()).committedBytes;
      return deleteReservation.call(world.ledger, input);
    };
    await world.consume();
    expect(committed).toBe(0);
  });

  it('becomes a sum even if it is the only one of its repo, unless it has one object', async () => {
    for (let index = 0; index < 30; index += 1)
      await world.push(`repo${index}`, { [oidOf(10 * index)]: 1, [oidOf(10 * index + 1)]: 1 });
    for (let index = 30; index < 40; index += 1) await world.push(`repo${index}`, { [oidOf(10 * index)]: 1 });
    world.nowMs += deathMs;
    await world.consume();
    const { length } = reserved().filter(({ objectCount }) => objectCount === 2);
    expect([length, reservations().length]).toEqual([30, 40]);
  });

  it('is not summed while somebody waits, because that function may put no items', async () => {
    expect(functionSpecs.getSubscription.table).not.toContain('PutItem');
    await pushUnsent(26);
    world.nowMs += deathMs;
    const put = vi.spyOn(world.ledger, 'putReservation');
    await reconcile(world.deps, { tenant, full: false, isAwaited: true });
    expect([put.mock.calls.length, reservations().length]).toEqual([0, 26]);
  });

  it('is summed once, if somebody waits for a reconcile at the same time', async () => {
    await pushUnsent(100);
    world.nowMs += deathMs;
    const { deleteReservation } = world.ledger;
    let isFirst = true;
    world.ledger.deleteReservation = async (input) => {
      if (isFirst) {
        isFirst = false;
        await reconcile(world.deps, { tenant, full: false, isAwaited: true });
      }
      return deleteReservation.call(world.ledger, input);
    };
    await reconcile(world.deps, { tenant, full: false });
    const bytes = reserved().flatMap((one) => one.bytes);
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBe(600);
  });

  it('counts as much if each write happens twice, as after a lost answer', async () => {
    await pushUnsent(100);
    world.nowMs += deathMs;
    const { deleteReservation } = world.ledger;
    world.ledger.deleteReservation = async (input) => {
      await deleteReservation.call(world.ledger, input);
      return deleteReservation.call(world.ledger, input);
    };
    await world.consume();
    const bytes = reserved().flatMap((one) => one.bytes);
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBe(600);
  });

  it('is missed by no reconcile that reads while sums are made: they come after what they replace', async () => {
    await pushUnsent(26);
    world.nowMs += deathMs;
    const ids = reservations().map(({ id }) => id);
    await world.consume();
    for (const sum of reservations()) expect(ids.every((id) => id < sum.id)).toBe(true);
  });

  it('is late for as long as the latest of its parts', async () => {
    await pushUnsent(13);
    world.nowMs += 10 * minute;
    await pushUnsent(13, 13);
    const latestMs = Math.max(...reservations().map(({ deadAtMs }) => deadAtMs));
    world.nowMs += deathMs;
    await world.consume();
    expect(reservations().map(({ deadAtMs }) => deadAtMs)).toEqual([latestMs, latestMs]);
  });
});
