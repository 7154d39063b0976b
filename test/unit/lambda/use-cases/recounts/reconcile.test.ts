import { beforeEach, describe, expect, it, vi } from 'vitest';
import { floorBytes } from '../../../../../lambda/domain/tenant.ts';
import { defaultSettings } from '../../../../../lambda/rules/settings.ts';
import { StoreUnavailableError } from '../../../../../lambda/store/rules/store.ts';
import { markObject } from '../../../../../lambda/use-cases/deletes/delete-objects.ts';
import { reconcile } from '../../../../../lambda/use-cases/recounts/reconcile.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { setRepoLimit } from '../../../../support/over-settings.ts';

const oid = oidOf(1);

describe('a recount', () => {
  let world: MemoryStack;
  const reservations = () => world.ledger.inspect(tenant).reservations;
  const reservation = () => {
    const [found] = reservations();
    if (!found) throw new Error('There is no reservation.');
    return found;
  };
  const committed = async () => (await world.record()).committedBytes;
  const floor = async () => floorBytes(await world.record(), world.nowMs);
  /** Something happens while the scan lists its first page. */
  const duringScan = (happen: () => void) => {
    const { listPage } = world.objects;
    vi.spyOn(world.objects, 'listPage').mockImplementationOnce(async (request) => {
      const page = await listPage.call(world.objects, request);
      happen();
      return page;
    });
  };

  beforeEach(async () => {
    world = new MemoryStack({ deleteGraceMs: 0 });
    world.put({ [`app/${oid}`]: 10, [`app/${oidOf(2)}`]: 20 });
    await world.create(100);
  });

  it('takes the bytes of a delete that is under way off its floor, because they may be gone already', async () => {
    await markObject(world.deps, { tenant, repo: 'app', oid, dryRun: false });
    world.beforeDelete = () => {
      throw new StoreUnavailableError('No answer.');
    };
    await world.consume();
    expect((await world.record()).counted).toMatchObject({ storedBytes: 30 });
    expect(await floor()).toBe(20);
    await world.consume();
    expect(await floor()).toBe(20);
  });

  it('counts what a reservation promises if that died while the ledger was read: a batch may rely on it', async () => {
    await world.push('app', { [oidOf(3)]: 50 });
    // The run reads them once before, too.
    world.nowMs = reservation().deadAtMs - 40_000;
    const { ledger } = world;
    const repos = ledger.repos.bind(ledger);
    vi.spyOn(ledger, 'repos').mockImplementation(async function* (name) {
      yield* repos(name);
      world.nowMs += 30_000;
    });
    await world.consume();
    expect(await committed()).toBe(80);
    vi.restoreAllMocks();
  });

  it('counts what a reservation promises if that died during the scan: it was alive when the scan began', async () => {
    await world.push('app', { [oidOf(3)]: 50 });
    world.nowMs = reservation().deadAtMs;
    duringScan(() => {
      world.put({ [`app/${oidOf(3)}`]: 50 });
      world.nowMs += 1000;
    });
    await world.consume();
    expect(await committed()).toBe(80);
    expect((await world.record()).counted).toMatchObject({ storedBytes: 30 });
    await world.consume();
    expect(await committed()).toBe(80);
    expect((await world.record()).counted).toMatchObject({ storedBytes: 80 });
  });

  it('has a floor that ends before a reservation that it counts can be dead, by every clock', async () => {
    await world.push('app', { [oidOf(3)]: 50 });
    await world.consume();
    const { deadAtMs } = reservation();
    expect((await world.record()).floorUntilMs).toBe(deadAtMs - 2 * defaultSettings.clockSkewMs);
    expect(await floor()).toBe(80);
  });

  it('voids a reservation whose batch died, a minute after it began, and frees its bytes', async () => {
    const { issueReservation } = world.ledger;
    vi.spyOn(world.ledger, 'issueReservation').mockRejectedValueOnce(new Error('The function died.'));
    await expect(world.push('app', { [oidOf(3)]: 50 })).rejects.toThrow();
    world.nowMs += minute;
    await world.consume();
    expect([reservations().length, await committed()]).toEqual([1, 80]);
    world.nowMs += 1;
    const { id: reservationId, repo, claims } = reservation();
    await world.consume();
    expect([reservations().length, await committed()]).toEqual([0, 30]);
    const late = { tenant, repo, reservationId, claims };
    expect(await issueReservation.call(world.ledger, late)).toBe('gone');
  });

  it('keeps an old reservation that its batch issues before it can be voided', async () => {
    const { voidReservation, issueReservation } = world.ledger;
    vi.spyOn(world.ledger, 'issueReservation').mockRejectedValueOnce(new Error('Lost.'));
    await expect(world.push('app', { [oidOf(3)]: 50 })).rejects.toThrow();
    world.nowMs += minute + 1;
    vi.spyOn(world.ledger, 'voidReservation').mockImplementationOnce(async (input) => {
      await issueReservation.call(world.ledger, { ...input, claims: reservation().claims });
      return voidReservation.call(world.ledger, input);
    });
    await world.consume();
    expect([reservation().state, await committed()]).toEqual(['issued', 80]);
  });

  it('says that a batch has probably died if it is pending for more than two seconds', async () => {
    vi.spyOn(world.ledger, 'issueReservation').mockRejectedValueOnce(new Error('The function died.'));
    await expect(world.push('app', { [oidOf(3)]: 50 })).rejects.toThrow();
    const hasAgedPending = async () => {
      const outcome = await reconcile(world.deps, { tenant, full: false });
      return outcome.kind === 'committed' && outcome.hasAgedPending;
    };
    world.nowMs += 2000;
    expect(await hasAgedPending()).toBe(false);
    world.nowMs += 1;
    expect(await hasAgedPending()).toBe(true);
  });

  it('reads the repos after the reservations: a reservation that is covered meanwhile was seen', async () => {
    const calls: string[] = [];
    const { reservations: readReservations, repos } = world.ledger;
    world.ledger.reservations = (name) => {
      calls.push('reservations');
      return readReservations.call(world.ledger, name);
    };
    world.ledger.repos = (name) => {
      calls.push('repos');
      return repos.call(world.ledger, name);
    };
    await reconcile(world.deps, { tenant, full: false });
    expect(calls).toEqual(['reservations', 'repos']);
  });

  it('deletes what is dead only after the tenant is committed', async () => {
    await world.push('app', { [oidOf(3)]: 50 });
    world.put({ [`app/${oidOf(3)}`]: 50 });
    world.nowMs = reservation().deadAtMs + 1;
    vi.spyOn(world.ledger, 'commitTenant').mockRejectedValueOnce(new Error('The function died.'));
    await expect(reconcile(world.deps, { tenant, full: false })).rejects.toThrow('died');
    expect(reservations()).toHaveLength(1);
    await reconcile(world.deps, { tenant, full: false });
    expect(reservations()).toEqual([]);
    expect(await committed()).toBe(80);
  });

  it('tells which repos are closed, and knows no repo of which it found nothing', async () => {
    await world.ledger.closeRepo({ tenant, repo: 'app', closedAtMs: 5 });
    const outcome = await reconcile(world.deps, { tenant, full: true });
    const repos = outcome.kind === 'committed' ? outcome.repos : [];
    expect(repos.map(({ repo, closedAtMs }) => [repo, closedAtMs])).toEqual([['app', 5]]);
  });

  it('that fails gives its lease back, and is charged for what it listed', async () => {
    const { listedUntilMs, appliedEpoch } = await world.record();
    vi.spyOn(world.ledger, 'commitTenant').mockRejectedValueOnce(new Error('Lost.'));
    await expect(reconcile(world.deps, { tenant, full: true })).rejects.toThrow('Lost.');
    expect(await world.record()).toMatchObject({ leaseUntilMs: 0, appliedEpoch });
    expect((await world.record()).listedUntilMs).toBeGreaterThan(listedUntilMs);
  });

  it('is refused while another holds the lease, and for a tenant that is not there', async () => {
    const leaseUntilMs = world.nowMs + 1000;
    await world.ledger.beginReconcile({ tenant, holder: 'other', nowMs: world.nowMs, leaseUntilMs });
    expect(await reconcile(world.deps, { tenant, full: false })).toEqual({ kind: 'busy', leaseUntilMs });
    expect(await reconcile(world.deps, { tenant: 'nobody', full: false })).toEqual({ kind: 'absent' });
  });

  it('that was overtaken commits nothing', async () => {
    const before = await committed();
    await world.push('app', { [oidOf(3)]: 50 });
    duringScan(() => {
      void world.ledger.closeTenant({ tenant, closedAtMs: world.nowMs });
    });
    expect(await reconcile(world.deps, { tenant, full: false })).toEqual({ kind: 'superseded' });
    expect(await committed()).toBe(before + 50);
  });

  it('is charged for its LIST requests though limits are set again and again while it lists', async () => {
    for (const limitBytes of [500, 501]) {
      const { listedUntilMs } = await world.record();
      await world.push('app', { [oidOf(limitBytes)]: 1 });
      duringScan(() => {
        void setRepoLimit(world.ledger, { tenant, repo: 'web', limitBytes });
      });
      expect(await reconcile(world.deps, { tenant, full: true })).toEqual({ kind: 'superseded' });
      const after = await world.record();
      expect(after.listedUntilMs).toBeGreaterThan(listedUntilMs);
      expect(after.repoLimits.get('web')).toMatchObject({ limitBytes });
    }
  });

  it('renews its lease once half of it is over, and stops if another took over', async () => {
    const renewed = vi.spyOn(world.ledger, 'setLease');
    const { reconcileLeaseMs } = defaultSettings;
    const { reservations: readReservations } = world.ledger;
    const pause = (durationMs: number) => {
      world.ledger.reservations = async function* (name) {
        for await (const page of readReservations.call(world.ledger, name)) {
          world.nowMs += durationMs;
          yield page;
        }
      };
    };
    pause(reconcileLeaseMs / 2 - 1);
    expect(await reconcile(world.deps, { tenant, full: false })).toMatchObject({ kind: 'committed' });
    expect(renewed).not.toHaveBeenCalled();
    pause(reconcileLeaseMs / 2);
    expect(await reconcile(world.deps, { tenant, full: false })).toMatchObject({ kind: 'committed' });
    expect(renewed.mock.calls).toMatchObject([[{ leaseUntilMs: world.nowMs + reconcileLeaseMs }]]);
    world.ledger.reservations = async function* (name) {
      for await (const page of readReservations.call(world.ledger, name)) {
        world.nowMs += 2 * reconcileLeaseMs;
        const { nowMs } = world;
        await world.ledger.beginReconcile({ holder: 'other', tenant: name, nowMs, leaseUntilMs: nowMs + 1 });
        yield page;
      }
    };
    expect(await reconcile(world.deps, { tenant, full: false })).toEqual({ kind: 'superseded' });
  });
});
