import { beforeEach, describe, expect, it, vi } from 'vitest';
import { addWithinLimit } from '../../../../../lambda/core/ledger/add-within-limit.ts';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { chooseByConfirmed } from '../../../../../lambda/core/ledger/decide-at-limit.ts';
import type { ReconcileBasis } from '../../../../../lambda/core/ledger/reconcile.ts';
import type { Reservation } from '../../../../../lambda/core/ledger/rules/reservation.ts';
import { newAttempt } from '../../../../../lambda/core/ledger/upload-batch.ts';
import { newTenant, reservation, tenantCommit } from '../../../../support/ledger-records.ts';
import { MemoryStack, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { updateTenant } from '../../../../support/over-settings.ts';

const basisOf = (
  promised: Record<string, { isIssued: boolean; largestBytes: number }>,
  seen: string[] = [],
): ReconcileBasis => ({ promised: new Map(Object.entries(promised)), seen: new Set(seen) });

describe('what fits above the confirmed usage', () => {
  let world: MemoryStack;
  /** The oids that the counter does not hold yet, of what was chosen last. */
  let added: string[];
  const choose = async (entries: Record<string, number>, basis?: ReconcileBasis, confirmedBaseBytes = 60) => {
    const record = { ...(await world.record()), confirmedBaseBytes, confirmedUntilMs: world.nowMs + 1 };
    const missing = new Map(Object.entries(entries));
    const attempt = newAttempt(world.deps, { tenant: record, repo: 'app', objects: missing });
    await world.ledger.putReservation({ tenant, reservation: attempt.reservation });
    const choice = await chooseByConfirmed(world.deps, { attempt, missing, tenant: record, basis });
    // A batch of which nothing fits is refused, not admitted with nothing.
    if (choice.kind === 'fits') expect(choice.chosen.size).toBeGreaterThan(0);
    added = choice.kind === 'fits' ? [...choice.notYetAdded.keys()] : [];
    const { oids, storedBytes = 0, reservedBytes = 0, limitBytes } = choice.refusal ?? {};
    return {
      chosen: choice.kind === 'fits' ? [...choice.chosen.keys()] : [],
      refusal: oids && { oids, usedBytes: storedBytes + reservedBytes, limitBytes },
    };
  };
  const promise = (id: string, more: Partial<Reservation>) => {
    const entries = new Map([['a', 50]]);
    const other = reservation(id, { state: 'issued', entries, lapsedAtMs: world.nowMs, ...more });
    return world.ledger.putReservation({ tenant, reservation: other });
  };
  const refused = { chosen: [], refusal: { oids: ['a'], usedBytes: 60, limitBytes: 100 } };

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(100);
  });

  it('is chosen up to the limit, and the rest is refused with the sum of both', async () => {
    expect(await choose({ a: 40 })).toEqual({ chosen: ['a'], refusal: undefined });
    expect(await choose({ a: 30, b: 20 })).toEqual({
      chosen: ['a'],
      refusal: { oids: ['b'], usedBytes: 90, limitBytes: 100 },
    });
    expect(await choose({ a: 50 })).toEqual(refused);
  });

  it('is nothing if the confirmed usage is above the limit by itself, not even an object of no bytes, and nothing is read', async () => {
    const read = vi.spyOn(world.ledger, 'reservationsOf');
    expect(await choose({ a: 0 }, undefined, 100)).toEqual({ chosen: ['a'], refusal: undefined });
    expect(await choose({ a: 0 }, undefined, 101)).toEqual({
      chosen: [],
      refusal: { oids: ['a'], usedBytes: 101, limitBytes: 100 },
    });
    expect(read).toHaveBeenCalledTimes(1);
  });

  it('includes what another live issued reservation of the repo promises: the confirmed usage holds it', async () => {
    await promise('other', {});
    expect(await choose({ a: 50 })).toEqual({ chosen: ['a'], refusal: undefined });
  });

  it.each<[string, Partial<Reservation>]>([
    ['only pending', { state: 'pending' }],
    ['of another repo', { repo: 'web' }],
    ['of another object', { entries: new Map([['b', 50]]) }],
    ['dead', { lapsedAtMs: 1 }],
  ])('does not include what is promised by a reservation that is %s', async (_, more) => {
    await promise('other', more);
    expect(await choose({ a: 50 })).toEqual(refused);
  });

  it('after a reconcile of its own includes what that saw, and what it found issued', async () => {
    const fits = { chosen: ['a'], refusal: undefined };
    expect(await choose({ a: 50 }, basisOf({}, ['a']))).toEqual(fits);
    expect(await choose({ a: 50 }, basisOf({ a: { isIssued: true, largestBytes: 1 } }))).toEqual(fits);
    expect(await choose({ a: 50 }, basisOf({ a: { isIssued: false, largestBytes: 50 } }))).toEqual(refused);
  });

  it('was not added to the counter yet, unless our own reconcile saw it or found it promised at this size', async () => {
    const left = async (basis: ReconcileBasis) => {
      await choose({ a: 10, b: 20 }, basis);
      return added;
    };
    expect(await left(basisOf({}))).toEqual(['a', 'b']);
    expect(await left(basisOf({}, ['a']))).toEqual(['b']);
    expect(await left(basisOf({ a: { isIssued: false, largestBytes: 10 } }))).toEqual(['b']);
    expect(await left(basisOf({ a: { isIssued: true, largestBytes: 9 } }))).toEqual(['a', 'b']);
    await choose({ z: 0 }, basisOf({}));
    expect(added).toEqual(['z']);
  });

  it.each<[string, Partial<Reservation>, string[]]>([
    ['issued with the same size', {}, []],
    ['issued with a smaller size', { entries: new Map([['a', 49]]) }, ['a']],
    ['about to die', { lapsedAtMs: 5 }, ['a']],
    ['only pending', { state: 'pending' }, ['a']],
  ])('without a reconcile: another reservation that is %s', async (_, more, expected) => {
    const skewMs = world.deps.settings.clockSkewMs;
    const lapsedAtMs =
      more.lapsedAtMs === undefined ? world.nowMs + 2 * skewMs : world.nowMs + 2 * skewMs - 1;
    await promise('other', { ...more, lapsedAtMs });
    await choose({ a: 50 }, undefined, 10);
    expect(added).toEqual(expected);
  });
});

const oid = oidOf(1);
const none: ReadonlyMap<string, number> = new Map();

describe('a batch at the limit', () => {
  let world: MemoryStack;
  const commit = (sumBytes: number) => world.ledger.addUnconditionally(tenant, sumBytes);
  /** Commits the reconcile of an empty tenant. */
  const commitEmpty = (epoch: number, correctionBytes: number) => {
    const scanned = { storedBytes: 0, objectCount: 0, scannedAtMs: world.nowMs };
    const found = { correctionBytes, scanned, confirmedUntilMs: 9e15 };
    return world.ledger.commitTenant(tenantCommit(tenant, epoch, found));
  };

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(100);
  });

  const add = async (chosen: ReadonlyMap<string, number>) => {
    const input = { tenant: await world.record(), repo: 'app', chosen, notYetAdded: none };
    return (await addWithinLimit(world.deps, input)).kind;
  };

  it('whose bytes the counter holds already is refused above the limit, unless it brings no bytes at all', async () => {
    commit(100);
    expect(await add(new Map([[oid, 10]]))).toBe('added');
    commit(1);
    expect(await add(new Map([[oid, 10]]))).toBe('refused');
    expect(await add(new Map([[oid, 0]]))).toBe('added');
  });

  it('that asks for nothing adds nothing', async () => {
    expect(await add(none)).toBe('added');
    expect(await world.record()).toMatchObject({ entryCount: 0, committedBytes: 0 });
  });

  it('is refused if the tenant takes up more than its limit already', async () => {
    world = new MemoryStack();
    world.put({ 'app/imported': 150 });
    await world.create(100);
    expect(await world.kinds('app', { [oid]: 1 })).toBe('over-limit');
  });

  it('has every byte added that the counter does not hold yet, if only one', async () => {
    commit(50);
    expect(await world.kinds('app', { [oid]: 101, [oidOf(2)]: 1 })).toBe('over-limit upload');
    expect((await world.record()).committedBytes).toBe(51);
  });

  it('gets what arrived before its reconcile, which has counted it', async () => {
    await world.push('app', { [oid]: 60 });
    // That reservation is lapsed, and the reconcile will settle it.
    world.nowMs += 37 * 60_000;
    commit(50);
    world.beforeNext('beginReconcile', () => {
      world.put({ [`app/${oid}`]: 60 });
    });
    expect(await world.kinds('app', { [oid]: 60 })).toBe('upload');
    expect((await world.record()).committedBytes).toBe(60);
  });

  it('makes one reconcile of its own, and is to come again if others take the room meanwhile', async () => {
    commit(50);
    const { commitTenant } = world.ledger;
    const committed = vi.spyOn(world.ledger, 'commitTenant').mockImplementationOnce(async (input) => {
      const outcome = await commitTenant.call(world.ledger, input);
      commit(50);
      return outcome;
    });
    expect(await world.push('app', { [oid]: 60 })).toBe('retry');
    expect(committed).toHaveBeenCalledTimes(1);
  });

  it('makes its reconcile itself if that takes few requests', async () => {
    world = new MemoryStack();
    world.put({ 'web/imported': 1 });
    await world.create(100);
    await world.push('web', { [oidOf(2)]: 1 });
    commit(50);
    expect(await world.kinds('app', { [oid]: 60 })).toBe('upload');
  });

  it('is refused by the confirmed usage without a scan', async () => {
    const listed = vi.spyOn(world.objects, 'listPage');
    commit(50);
    expect(await world.kinds('app', { [oid]: 101 })).toBe('over-limit');
    expect(listed).not.toHaveBeenCalled();
  });

  describe('whose object came around the API after it was asked for', () => {
    /** Between the question and the counter: somebody stores this, and another reconcile counts it. */
    const meanwhile = (objects: Record<string, number>) => {
      world.beforeNext('addCommitted', async () => {
        world.put(objects);
        await world.consume({ full: true });
      });
    };

    it('is to come again instead of being refused, and then it is stored', async () => {
      meanwhile({ [`app/${oid}`]: 60 });
      expect(await world.push('app', { [oid]: 60 })).toBe('retry');
      expect(await world.kinds('app', { [oid]: 60 })).toBe('stored');
    });

    it('is to come again also if another object of it would be admitted', async () => {
      meanwhile({ [`app/${oid}`]: 60 });
      expect(await world.push('app', { [oidOf(2)]: 30, [oid]: 60 })).toBe('retry');
      expect(await world.kinds('app', { [oidOf(2)]: 30, [oid]: 60 })).toBe('upload stored');
    });

    it('is refused if it was something else that came', async () => {
      meanwhile({ 'app/another': 60 });
      expect(await world.kinds('app', { [oid]: 60 })).toBe('over-limit');
    });
  });

  it('does not take what another reconcile found for its own: its bytes are added once more', async () => {
    commit(50);
    const { beginReconcile, readTenant } = world.ledger;
    // Another reconcile holds the lease, and commits while the batch waits for it.
    vi.spyOn(world.ledger, 'beginReconcile').mockImplementationOnce(async (input) => {
      const other = await beginReconcile.call(world.ledger, input);
      if (other.kind !== 'begun') throw new Error(other.kind);
      vi.spyOn(world.ledger, 'readTenant').mockImplementationOnce(async (name) => {
        await commitEmpty(other.epoch, -50);
        return readTenant.call(world.ledger, name);
      });
      return { kind: 'busy', leaseUntilMs: input.leaseUntilMs };
    });
    expect(await world.kinds('app', { [oid]: 60 })).toBe('upload');
    expect((await world.record()).committedBytes).toBe(60);
    // The next batch finds no room for as much again.
    expect(await world.kinds('app', { [oidOf(2)]: 60 })).toBe('over-limit');
  });

  it('gets what fits above the confirmed usage and below the counter, without a scan', async () => {
    commit(50);
    const [listed, added] = [vi.spyOn(world.objects, 'listPage'), vi.spyOn(world.ledger, 'addCommitted')];
    expect(await world.kinds('app', { [oid]: 101, [oidOf(2)]: 40 })).toBe('over-limit upload');
    expect([listed.mock.calls.length, added.mock.calls.length]).toEqual([0, 2]);
    expect((await world.record()).committedBytes).toBe(90);
  });

  it('gets objects of no bytes, however far the counter is above the limit', async () => {
    commit(500);
    const begun = vi.spyOn(world.ledger, 'beginReconcile');
    expect(await world.kinds('app', { [oid]: 101, [oidOf(2)]: 0 })).toBe('over-limit upload');
    expect(begun).not.toHaveBeenCalled();
  });

  it('adds nothing that the tenant as read rules out, because a refused write is billed too', async () => {
    commit(50);
    const [listed, added] = [vi.spyOn(world.objects, 'listPage'), vi.spyOn(world.ledger, 'addCommitted')];
    const folders = vi.spyOn(world.objects, 'listFolders');
    expect(await world.kinds('app', { [oid]: 60 })).toBe('upload');
    // Before the reconcile and after it. Nothing had changed, so that listed nothing.
    expect(added).toHaveBeenCalledTimes(2);
    expect([listed.mock.calls.length, folders.mock.calls.length]).toEqual([0, 0]);
  });

  it('of a tenant that was never counted has it counted, and only then adds', async () => {
    world = new MemoryStack();
    await world.ledger.createTenant(newTenant(tenant, { limitBytes: 100 }));
    const added = vi.spyOn(world.ledger, 'addCommitted');
    expect(await world.kinds('app', { [oid]: 60 })).toBe('upload');
    expect(added).toHaveBeenCalledTimes(2);
  });

  it('that read the limit before it was lifted is admitted without a scan', async () => {
    const input = { tenant: await world.record(), repo: 'app', objects: new Map([[oid, 500]]) };
    await updateTenant(world.ledger, { tenant, limitBytes: null });
    const begun = vi.spyOn(world.ledger, 'beginReconcile');
    expect(await admitUpload(world.deps, input)).toMatchObject({
      verdicts: new Map([[oid, { kind: 'upload' }]]),
    });
    expect(begun).not.toHaveBeenCalled();
  });

  it('gets what another batch was promised already: the counter holds it, so its own reconcile admits it', async () => {
    const upload = new Map([[oid, expect.objectContaining({ kind: 'upload' })]]);
    expect(await world.push('app', { [oid]: 60 })).toEqual(upload);
    expect(await world.push('app', { [oid]: 60 })).toEqual(upload);
    expect((await world.record()).committedBytes).toBe(60);
  });

  it('waits for three reconciles of others, and then is to come again', async () => {
    commit(50);
    const { beginReconcile } = world.ledger;
    const begun = vi.spyOn(world.ledger, 'beginReconcile').mockImplementation(async (input) => {
      const other = await beginReconcile.call(world.ledger, input);
      if (other.kind !== 'begun') throw new Error(other.kind);
      await commitEmpty(other.epoch, 0);
      return { kind: 'busy', leaseUntilMs: input.leaseUntilMs };
    });
    expect(await world.push('app', { [oid]: 60 })).toBe('retry');
    expect(begun).toHaveBeenCalledTimes(3);
    expect(world.requests).toEqual([{ tenant, reason: 'refusal', full: false }]);
  });

  it.each([
    ['for 15 seconds', 0, 15_000],
    ['until 5 seconds before its own end, if it began long ago', 10_000, 20_000],
  ])('waits %s', async (_, spentMs, endsMs) => {
    commit(50);
    const leaseUntilMs = world.nowMs + 3_600_000;
    await world.ledger.beginReconcile({ tenant, holder: 'other', nowMs: world.nowMs, leaseUntilMs });
    const { addCommitted } = world.ledger;
    const beganMs = world.nowMs;
    vi.spyOn(world.ledger, 'addCommitted').mockImplementationOnce(async (input) => {
      world.nowMs += spentMs;
      return addCommitted.call(world.ledger, input);
    });
    expect(await world.push('app', { [oid]: 60 })).toBe('retry');
    expect(world.nowMs - beganMs).toBeLessThanOrEqual(endsMs);
    expect(world.nowMs - beganMs).toBeGreaterThan(endsMs - 1500);
  });
});
