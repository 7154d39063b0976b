import { describe, expect, it, vi } from 'vitest';
import { deleteRepo } from '../../../../../lambda/core/ledger/deletes.ts';
import { newDeletion } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import { prefixesOf } from '../../../../../lambda/core/rules/prefix-set.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import {
  cancelGc,
  openGc,
  readGc,
  signReachableSet,
  startRun,
} from '../../../../../lambda/subjects/gc/gc.ts';
import { reachableSetKey } from '../../../../../lambda/subjects/gc/rules/gc.ts';
import { reservation } from '../../../../support/ledger-records.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';
import { GcWorld, hour, oidAt, path, repo } from './gc-world.ts';

const day = 24 * hour;

describe('opening a gc run', () => {
  it('has pushes note what they name from then on', async () => {
    const world = await GcWorld.with([0, 1]);
    const gc = await world.open();
    expect(gc).toMatchObject({ repo, state: 'watching', watch: { openedAtMs: world.nowMs } });
    expect(await world.watch()).toEqual(gc.watch);
    expect(gc.watch.untilMs).toBe(world.nowMs + 30 * day);
  });

  it('finds the one that is open', async () => {
    const world = await GcWorld.with([0]);
    const first = await world.open();
    world.nowMs += hour;
    expect(await world.open()).toEqual(first);
  });

  it('finds one of which only the watch was opened', async () => {
    const world = await GcWorld.with([0]);
    const watch = { id: 'w', openedAtMs: world.nowMs, untilMs: world.nowMs + day };
    await world.ledger.openWatch({ ...path, watch, nowMs: world.nowMs });
    world.nowMs += hour;
    expect(await world.open()).toMatchObject({ watch, state: 'watching' });
  });

  it('is refused where there is nothing, or what there is is being deleted', async () => {
    const world = await GcWorld.with([0]);
    expect(await openGc(world.deps, { tenant, repo: 'none' })).toEqual({ kind: 'no-repo' });
    await deleteRepo(world.deps, { ...path, dryRun: false });
    expect(await openGc(world.deps, path)).toEqual({ kind: 'no-repo' });
  });

  it('waits until the last one has ended', async () => {
    const world = await GcWorld.with([0]);
    await world.open();
    await cancelGc(world.deps, path);
    expect(await openGc(world.deps, path)).toEqual({ kind: 'busy' });
    await world.consume();
    expect(await world.watch()).toBeUndefined();
    world.nowMs += 1;
    const again = await world.open();
    expect(again).toMatchObject({ state: 'watching', run: null, version: 4 });
  });
});

describe('a run', () => {
  it('begins when the watch is old enough, and not without one', async () => {
    const world = await GcWorld.with([0]);
    const reachableSet = { ...path, reachableCount: 0, reachableSha256: sha256Hex('') };
    const wish = { ...reachableSet, isDryRun: true, isForced: false, minAgeMs: 0 };
    expect(await signReachableSet(world.deps, reachableSet)).toEqual({ kind: 'not-open' });
    expect(await startRun(world.deps, wish)).toEqual({ kind: 'not-open' });
    const { watch } = await world.open();
    const fromMs = watch.openedAtMs + day;
    world.nowMs = fromMs - 1;
    expect(await signReachableSet(world.deps, reachableSet)).toEqual({ kind: 'too-early', fromMs });
    expect(await startRun(world.deps, wish)).toEqual({ kind: 'too-early', fromMs });
    world.nowMs += 1;
    expect(await signReachableSet(world.deps, reachableSet)).toMatchObject({ kind: 'signed' });
    expect(await startRun(world.deps, wish)).toMatchObject({
      kind: 'started',
      gc: { state: 'selecting' },
    });
    expect(world.requests).toEqual([{ tenant, reason: 'delete', full: false }]);
    expect(await startRun(world.deps, wish)).toMatchObject({ kind: 'running' });
    expect(await signReachableSet(world.deps, reachableSet)).toMatchObject({ kind: 'running' });
  });

  it('has the reachable set signed: its length, its hash, and a key of its own', async () => {
    const world = await GcWorld.with([0]);
    await world.opened();
    const signUpload = vi.fn(async () => ({ href: 'https://store.example/', header: {} }));
    const signer = { ...world.deps.signer, signUpload };
    const reachableSha256 = sha256Hex('keep');
    await signReachableSet({ ...world.deps, signer }, { ...path, reachableCount: 3, reachableSha256 });
    expect(signUpload).toHaveBeenCalledWith({
      key: reachableSetKey(path),
      oid: reachableSha256,
      sizeBytes: 24,
      signedAtMs: world.nowMs,
      lifetimeMs: 30 * minute,
    });
  });

  it('deletes what is neither needed, nor named since, nor reserved, nor young', async () => {
    const world = await GcWorld.with([0, 1, 2, 3, 4, 5]);
    await world.open();
    await world.push(repo, { [oidAt(1)]: 2 });
    world.nowMs += day;
    world.putOld(6, hour);
    world.objects.put(`${tenant}/${repo}/notes.txt`, 7, undefined, 0);
    const entries = new Map([[oidAt(2), 3]]);
    const held = reservation('r', { repo, state: 'issued', entries, lapsedAtMs: world.nowMs + hour });
    await world.ledger.putReservation({ tenant, reservation: held });
    const reservedUntilMs = world.nowMs + hour;
    await world.run([0], { minAgeMs: day });
    await world.consume();
    const { state, selection, progress } = await world.gc();
    expect(selection).toMatchObject({
      files: 1,
      listed: { objectCount: 7, bytes: 28 },
      kept: { objectCount: 1, bytes: 1 },
      young: { objectCount: 1, bytes: 7 },
      inUse: { objectCount: 1, bytes: 2 },
      // Of what was just uploaded it is known when a run can choose it.
      reserved: { objectCount: 1, bytes: 3, untilMs: reservedUntilMs },
      candidates: { objectCount: 3, bytes: 15 },
      largest: [5, 4, 3].map((index) => ({ oid: oidAt(index), sizeBytes: index + 1 })),
    });
    expect(state).toBe('done');
    expect(progress.deleted).toEqual({ objectCount: 3, bytes: 15 });
    expect(await world.stored()).toEqual([-1, 0, 1, 2, 6]);
  });

  it('leaves nothing behind: no files, no watch, nothing due, exact numbers', async () => {
    const world = await GcWorld.with([0, 1, 2, 3]);
    await world.opened();
    await world.run([0, 1], { rule: '30/3' });
    expect(await world.files()).toHaveLength(1);
    await world.consume();
    expect(await world.files()).toEqual([]);
    expect(await world.watch()).toBeUndefined();
    expect(await world.gc()).toMatchObject({ state: 'done', dueAtMs: null, endedAtMs: world.nowMs });
    await world.expectExact();
    expect(await world.stored()).toEqual([0, 1]);
    expect(await world.ledger.goneOf({ ...path, oids: [oidAt(0), oidAt(2), oidAt(3)] })).toEqual(
      new Map([
        [oidAt(2), { atMs: world.nowMs, rule: '30/3' }],
        [oidAt(3), { atMs: world.nowMs, rule: '30/3' }],
      ]),
    );
  });

  it('that is dry only tells, and keeps the watch for the next', async () => {
    const world = await GcWorld.with([0, 1, 2, 3]);
    await world.opened();
    await world.run([0], { isDryRun: true, isForced: false });
    await world.consume();
    expect(await world.gc()).toMatchObject({
      state: 'watching',
      failure: null,
      run: { isDryRun: true },
      selection: { candidates: { objectCount: 3, bytes: 9 } },
    });
    expect(await world.stored()).toEqual([0, 1, 2, 3]);
    expect(await world.watch()).toBeDefined();
    expect(await world.run([0])).toMatchObject({ kind: 'started' });
    await world.consume();
    expect(await world.stored()).toEqual([0]);
  });

  it.each(['cancelled', 'expired'])('that is dry leaves no files behind once it is %s', async (end) => {
    const world = await GcWorld.with([0, 1, 2, 3]);
    const { watch } = await world.opened();
    await world.run([0], { isDryRun: true, isForced: false });
    await world.consume();
    // The reachable set, and what was chosen.
    expect((await world.files()).length).toBeGreaterThan(1);
    if (end === 'cancelled') await cancelGc(world.deps, path);
    else world.nowMs = watch.untilMs + 1;
    await world.consume();
    expect(await world.gc()).toMatchObject({ state: end, dueAtMs: null });
    expect(await world.files()).toEqual([]);
  });

  it('deletes more than half only if it is forced', async () => {
    const world = await GcWorld.with([0, 1, 2, 3]);
    await world.opened();
    await world.run([3], { isForced: false });
    await world.consume();
    expect(await world.gc()).toMatchObject({ state: 'watching', failure: { reason: 'too-much' } });
    expect(await world.stored()).toEqual([0, 1, 2, 3]);
  });

  it('keeps what the store does not say the time of', async () => {
    const world = await GcWorld.with([0]);
    world.objects.put(`${tenant}/${repo}/${oidAt(5)}`, 6);
    await world.opened();
    await world.run([]);
    await world.consume();
    expect(await world.stored()).toEqual([5]);
  });

  it('goes on after the store was down', async () => {
    const world = await GcWorld.with([0, 1, 2]);
    await world.opened();
    await world.run([0]);
    let isDown = true;
    world.beforeDelete = () => {
      if (isDown) throw new StoreUnavailableError('It does not answer.');
    };
    await world.consume();
    expect(await world.gc()).toMatchObject({ state: 'deleting', progress: { line: 0 } });
    isDown = false;
    world.nowMs += 5 * minute;
    expect(await world.isDue()).toBe(true);
    await world.consume();
    await world.consume();
    expect(await world.gc()).toMatchObject({ state: 'done' });
    expect(await world.stored()).toEqual([0]);
    await world.expectExact();
  });

  it('deletes nothing after it was cancelled, though it was to be deleted', async () => {
    const world = await GcWorld.with([0, 1, 2]);
    await world.opened();
    await world.run([0]);
    expect(await cancelGc(world.deps, path)).toMatchObject({ state: 'cancelled' });
    expect(await cancelGc(world.deps, path)).toMatchObject({ state: 'cancelled' });
    await world.consume();
    expect(await world.stored()).toEqual([0, 1, 2]);
    expect(await world.watch()).toBeUndefined();
    expect(await world.gc()).toMatchObject({ state: 'cancelled', dueAtMs: null });
    expect(await world.files()).toEqual([]);
  });

  it('that was never asked for ends with its watch', async () => {
    const world = await GcWorld.with([0, 1]);
    const { watch } = await world.open();
    world.nowMs = watch.untilMs + 1;
    expect(await readGc(world.deps, path)).toMatchObject({ state: 'expired' });
    const wish = { reachableCount: 0, reachableSha256: '', isDryRun: true, isForced: true, minAgeMs: 0 };
    expect(await startRun(world.deps, { ...path, ...wish })).toEqual({ kind: 'not-open' });
    expect(await world.isDue()).toBe(true);
    await world.consume();
    expect(await world.gc()).toMatchObject({ state: 'expired', dueAtMs: null });
    expect(await world.watch()).toBeUndefined();
  });

  it('is not there before it was opened', async () => {
    const world = await GcWorld.with([0]);
    expect(await readGc(world.deps, path)).toBeUndefined();
    expect(await cancelGc(world.deps, path)).toBeUndefined();
  });
});

describe('the files of a gc run', () => {
  /** Asks for a URL of a set, and says where it leads. */
  const sign = async (world: GcWorld, { bytes, repo: name = repo }: { bytes: Buffer; repo?: string }) => {
    const reachableSha256 = sha256Hex(bytes);
    const set = { tenant, repo: name, reachableCount: bytes.length / 8, reachableSha256 };
    const signUpload = vi.fn(async () => ({ href: 'https://store.example/', header: {} }));
    const signer = { ...world.deps.signer, signUpload };
    const outcome = await signReachableSet({ ...world.deps, signer }, set);
    const [[signed] = []] = signUpload.mock.calls as unknown as [[{ key: string }]?];
    return { outcome: outcome.kind, put: () => world.deps.archives.put(signed?.key ?? '', bytes) };
  };
  const setOf = (index: number, bytes = 8) => Buffer.alloc(bytes, index);
  const largest = 5_000_000 * 8;

  it('have one reachable set, however many were sent, and none after its end', async () => {
    const world = await GcWorld.with([0, 1]);
    await world.opened();
    for (let index = 0; index < 10; index += 1) await (await sign(world, { bytes: setOf(index) })).put();
    expect(await world.files()).toHaveLength(1);
    await cancelGc(world.deps, path);
    await world.consume();
    expect(await world.files()).toEqual([]);
  });

  it('have the candidates of one run, however many were made', async () => {
    const world = await GcWorld.with([0, 1, 2]);
    await world.opened();
    for (const keep of [0, 1, 2]) {
      await sign(world, { bytes: setOf(keep) });
      await world.run([keep], { isDryRun: true });
      await world.consume();
    }
    expect(await world.files()).toHaveLength(2);
    await cancelGc(world.deps, path);
    await world.consume();
    expect(await world.files()).toEqual([]);
  });

  it('have the set where an older version put it, until its end', async () => {
    const world = await GcWorld.with([0, 1, 2]);
    const { watch } = await world.opened();
    const bytes = prefixesOf([oidAt(0)]);
    await world.run([0], { isDryRun: true });
    await world.objects.delete([reachableSetKey(path)]);
    await world.deps.archives.put(`_gc/${tenant}/${watch.id}/keep-${sha256Hex(bytes)}`, bytes);
    await world.consume();
    expect(await world.gc()).toMatchObject({ failure: null, selection: { kept: { objectCount: 1 } } });
    await cancelGc(world.deps, path);
    await world.consume();
    expect(await world.files()).toEqual([]);
  });

  it.each<[string, (world: GcWorld) => Promise<unknown>]>([
    ['its end', ({ deps }) => cancelGc(deps, path)],
    ['its repo', ({ deps }) => deleteRepo(deps, { ...path, dryRun: false })],
    ['its tenant', ({ ledger, nowMs }) => ledger.closeTenant({ tenant, closedAtMs: nowMs })],
  ])('are removed, too, if they land after %s was removed', async (_, end) => {
    const world = await GcWorld.with([0, 1]);
    await world.opened();
    const { put } = await sign(world, { bytes: setOf(1) });
    await end(world);
    await world.consume();
    world.nowMs += 31 * minute;
    await put();
    await world.pass(2 * hour);
    expect(await world.files()).toEqual([]);
    expect(await world.watch()).toBeUndefined();
    expect(await world.isDue()).toBe(false);
  });

  it('keep no other from being opened while one can still land, which is removed with those of the next', async () => {
    const world = await GcWorld.with([0, 1]);
    await world.opened();
    const { put } = await sign(world, { bytes: setOf(1) });
    await cancelGc(world.deps, path);
    expect(await openGc(world.deps, path)).toEqual({ kind: 'busy' });
    await world.consume();
    world.nowMs += 1;
    const next = await world.opened();
    expect(await world.watch()).toEqual(next.watch);
    await put();
    await cancelGc(world.deps, path);
    await world.pass(2 * hour);
    expect(await world.files()).toEqual([]);
    expect(await world.watch()).toBeUndefined();
  });

  it('are removed, too, if one of the run before lands after the end of the next', async () => {
    const world = await GcWorld.with([0, 1]);
    await world.opened();
    const { put } = await sign(world, { bytes: setOf(1) });
    await cancelGc(world.deps, path);
    await world.consume();
    world.nowMs += 1;
    await world.open();
    await cancelGc(world.deps, path);
    await world.consume();
    await put();
    await world.pass(2 * hour);
    expect(await world.files()).toEqual([]);
    expect(await world.isDue()).toBe(false);
  });

  it('are removed though whoever opened the next one died before its record was put', async () => {
    const world = await GcWorld.with([0, 1]);
    await world.opened();
    const { put } = await sign(world, { bytes: setOf(1) });
    await cancelGc(world.deps, path);
    await world.consume();
    world.nowMs += 1;
    const { watch } = await world.gc();
    const next = { ...watch, id: 'next', openedAtMs: world.nowMs, untilMs: world.nowMs + 30 * day };
    await world.ledger.openWatch({ ...path, watch: next, nowMs: world.nowMs, over: watch.id });
    await put();
    await world.pass(2 * hour);
    expect(await world.files()).toEqual([]);
    expect(await world.isDue()).toBe(false);
    expect(await world.open()).toMatchObject({ watch: next });
  });

  it('of all repos of a tenant have the bytes of two of the largest sets, also when asked for at once', async () => {
    const world = await GcWorld.with([0, 1]);
    const repos = ['a', 'b', 'c', 'd', 'e'];
    for (const name of repos) {
      world.objects.put(`${tenant}/${name}/${oidAt(0)}`, 1, undefined, 0);
      await openGc(world.deps, { tenant, repo: name });
    }
    world.nowMs += day;
    const bytes = setOf(1, largest);
    const signAll = (names: readonly string[]) =>
      Promise.all(names.map(async (name) => (await sign(world, { bytes, repo: name })).outcome));
    expect(await signAll(['a'])).toEqual(['signed']);
    const rest = await signAll(['b', 'c', 'd', 'e']);
    expect(rest.filter((kind) => kind === 'signed').length).toBeLessThan(2);
    expect(await signAll(['a'])).toEqual(['signed']);
    // Who was refused holds no place.
    for (const name of repos) await cancelGc(world.deps, { tenant, repo: name });
    await world.consume();
    await world.pass(2 * hour);
    world.nowMs += 1;
    for (const name of ['d', 'e']) await openGc(world.deps, { tenant, repo: name });
    world.nowMs += day;
    expect([...(await signAll(['d'])), ...(await signAll(['e']))]).toEqual(['signed', 'signed']);
  });

  it('of a tenant that was deleted are removed, those that an older version left, too', async () => {
    const world = await GcWorld.with([0]);
    await world.deps.archives.put(`_gc/${tenant}/long-gone/keep-0a`, Buffer.of(1));
    await world.deps.archives.put(`_gc/${tenant}-2/long-gone/keep-0a`, Buffer.of(1));
    await world.ledger.closeTenant({ tenant, closedAtMs: world.nowMs });
    await world.consume();
    expect(await world.files()).toEqual([`_gc/${tenant}-2/long-gone/keep-0a`]);
  });
});

describe('a gc run of a large repo whose deletions name as much as they may', () => {
  /** What they removed is still to be taken off the count. */
  const named = async () => {
    const world = await GcWorld.with([0, 1, 2, 3, 4, 5], { largeRepoObjects: 4, reconcileRestMs: minute });
    await world.consume({ full: true });
    expect((await world.ledger.readRepo(path))?.large).toBeDefined();
    await world.opened();
    await world.run([0]);
    const prefixes = Buffer.alloc(8_000, 1).toString('base64');
    const removal = { runMs: 1, beganMs: 1, endedMs: 2, objects: new Map() };
    for (let index = 0; index < 60; index += 1) {
      const deletionId = `other-${index}`;
      const before = newDeletion({ id: deletionId, repo, objects: new Map(), dueAtMs: 1 });
      await world.ledger.putDeletion({ tenant, deletion: before });
      await world.ledger.claimDeletion({ tenant, before, deadlineMs: 2 });
      const ended = { left: new Map(), dueAtMs: 1, keptUntilMs: 1, removal, prefixes };
      await world.ledger.endDeletion({ ...path, deletionId, deadlineMs: 2, ...ended });
    }
    await world.ledger.announceDelete({ tenant, intentId: 'n', note: { repo, bytes: 1, deadlineMs: 1 } });
    await world.ledger.removeIntent({ tenant, intentId: 'n' });
    return world;
  };

  it('goes on after a reconcile that takes it off, which is made at once', async () => {
    const world = await named();
    expect(await world.consume()).toBe('done');
    expect(await world.gc()).toMatchObject({ state: 'done', progress: { deleted: { objectCount: 5 } } });
    expect(await world.stored()).toEqual([0]);
  });

  it('ends its run if no reconcile may begin, and is asked for again', async () => {
    const world = await named();
    const others = await world.ledger.deletionsNaming({ ...path, oids: [] });
    // First by records that are only kept: it waits for them until its time is up.
    const kept = others.map(({ removal: _, ...deletion }) => ({ ...deletion, deadlineMs: 9e15 }));
    world.ledger.deletionsNaming = async () => kept;
    expect(await world.consume()).toBe('requeued');
    world.ledger.deletionsNaming = async () => others;
    const { epoch } = await world.record();
    await world.ledger.setLease({ tenant, epoch, listedUntilMs: world.nowMs + 2 * hour });
    const beganMs = world.nowMs;
    world.requests.length = 0;
    expect(await world.consume()).toBe('requeued');
    expect(world.nowMs).toBe(beganMs);
    expect(await world.gc()).toMatchObject({ state: 'deleting', progress: { line: 0 } });
    expect(world.requests).toMatchObject([{ tenant, reason: 'unfinished' }]);
  });
});
