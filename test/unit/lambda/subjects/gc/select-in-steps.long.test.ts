import { beforeEach, describe, expect, it } from 'vitest';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { createTenant } from '../../../../../lambda/frame/access/tenants.ts';
import { cancelGc, type GcDeps, openGc, startRun } from '../../../../../lambda/subjects/gc/gc.ts';
import {
  candidatesKey,
  decodeCandidates,
  reachableSetKey,
} from '../../../../../lambda/subjects/gc/rules/gc.ts';
import { selectCandidates } from '../../../../../lambda/subjects/gc/select-candidates.ts';
import { advanceGc } from '../../../../../lambda/subjects/gc/sweep-candidates.ts';
import { ScanningDeps } from '../../../../support/memory/counting-deps.ts';
import { replacingDeps } from '../../../../support/memory/deps.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';
import { Random } from '../../../../support/random.ts';
import { GcWorld, hour, path, repo } from './gc-world.ts';

const second = 1000;
const many = Array.from({ length: 300 }, (_, index) => sha256Hex(`of many ${index}`));

describe('the choice of candidates in steps', () => {
  let world: GcWorld;
  /** Pages of three keys, each of which takes a while. */
  const slowly = (pageMs: number): Partial<GcDeps> => ({
    listing: {
      ...world.deps.listing,
      listPage: async (request) => {
        world.nowMs += pageMs;
        return world.objects.listPage({ ...request, maxKeys: 3 });
      },
    },
  });
  const step = async (more: Partial<GcDeps> = {}, untilMs = world.nowMs) =>
    selectCandidates({ ...world.deps, ...more }, { tenant, gc: await world.gc(), untilMs });
  const written = async () => {
    const { watch, selection, selecting } = await world.gc();
    const { folder = '', files = 0 } = selection ?? selecting?.found ?? {};
    const names: string[] = [];
    for (let file = 0; file < files; file += 1) {
      const key = candidatesKey({ tenant, watchId: watch.id }, { folder, file });
      const bytes = (await world.deps.archives.get(key)) ?? Buffer.of();
      for (const { oid } of decodeCandidates(bytes) ?? []) names.push(oid);
    }
    return names.sort();
  };
  const charged = async () => Math.max(0, (await world.record()).listedUntilMs - world.nowMs);
  const open = async (settings: ConstructorParameters<typeof GcWorld>[0] = {}) => {
    world = await GcWorld.with([], settings);
    for (const [index, oid] of many.entries())
      world.objects.put(`${tenant}/${repo}/${oid}`, index, undefined, 0);
    await world.opened();
    await world.run([]);
  };
  beforeEach(() => open());

  it('goes on where it was, until it has found each candidate once', async () => {
    for (let seed = 0; seed < 10; seed += 1) {
      await open({ listRequestsPerHour: 1e6 });
      const random = new Random(seed);
      let steps = 0;
      for (;;) {
        const putGc = world.gcRuns.put.bind(world.ledger);
        let puts = 0;
        // It dies at times, with its files written and before it says how far it is.
        const dies = random.chance(0.3);
        world.gcRuns.put = async (input) => {
          puts += 1;
          if (dies && puts === 2) throw new Error('It dies.');
          return putGc(input);
        };
        const after = await step(slowly(random.int(100, 900))).catch(() => undefined);
        world.gcRuns.put = putGc;
        steps += 1;
        expect(steps).toBeLessThan(200);
        if (typeof after === 'object' && after.state !== 'selecting') {
          expect(after).toMatchObject({
            state: 'deleting',
            selecting: undefined,
            selection: { listed: { objectCount: 300 }, candidates: { objectCount: 300 } },
          });
          break;
        }
        expect(await world.gc()).toMatchObject({ state: 'selecting', selection: null });
      }
      expect(steps).toBeGreaterThan(1);
      expect(await written()).toEqual([...many].sort());
    }
  });

  it('begins where it was left by a version that had no steps', async () => {
    const { selecting: _, ...older } = await world.gc();
    const { version } = older;
    await world.gcRuns.put({ tenant, gc: older, versionRead: version, writeId: 'older' });
    expect(await step({}, 9e15)).toMatchObject({ selection: { candidates: { objectCount: 300 } } });
  });

  it('lists for ten seconds at least, and ends soon after', async () => {
    const beganMs = world.nowMs;
    const after = await step(slowly(second), world.nowMs - hour);
    expect(after).toMatchObject({ state: 'selecting', dueAtMs: world.nowMs });
    expect(world.nowMs - beganMs).toBeGreaterThan(10 * second);
    // The lanes that are under way each end with their page.
    expect(world.nowMs - beganMs).toBeLessThanOrEqual(27 * second);
  });

  it('fails if no page comes in time', async () => {
    const down = (afterMs: number): Partial<GcDeps> => ({
      listing: {
        ...world.deps.listing,
        listPage: async (request) => {
          const { prefix, deadlineMs } = request;
          if (prefix.startsWith('_gc/')) return world.objects.listPage(request);
          expect(deadlineMs).toBe(beganMs + 20 * second);
          world.nowMs += afterMs;
          throw new StoreUnavailableError('Down.');
        },
      },
    });
    const beganMs = world.nowMs;
    await expect(step(down(20 * second))).rejects.toThrow('listed no page');
    expect(await world.gc()).toMatchObject({ state: 'selecting', selection: null });
  });

  it('is charged, begins with half an hour of the budget, and goes on with five minutes as they are free', async () => {
    await open({ listRequestsPerHour: 60 });
    // A minute each.
    const first = await step(slowly(0), 9e15);
    expect(first).toBe('waiting');
    expect(await charged()).toBe(30 * minute);
    const { dueAtMs, selecting } = await world.gc();
    expect(dueAtMs).toBe(world.nowMs + 25 * minute);
    expect(selecting?.found.listed.objectCount).toBe(90);
    const before = await world.gc();
    expect(await step(slowly(0), 9e15)).toBe('waiting');
    expect(await world.gc()).toEqual(before);
    world.nowMs = dueAtMs ?? 0;
    expect(await step(slowly(0), 9e15)).toBe('waiting');
    expect(await charged()).toBe(10 * minute);
    expect((await world.gc()).selecting?.found.listed.objectCount).toBe(105);
  });

  it('waits though more is free again, if its step used up the budget for so long: a reconcile comes first', async () => {
    await open({ listRequestsPerHour: 60 });
    await step(slowly(0), 9e15);
    world.nowMs = (await world.gc()).dueAtMs ?? 0;
    // Five pages of two minutes each.
    expect(await step(slowly(2 * minute), 9e15)).toBe('waiting');
    expect((await world.gc()).dueAtMs).toBe(world.nowMs + 1);
  });

  it.each([0, minute])(
    'waits while the budget is used up by others, and writes that once (%d)',
    async (agoMs) => {
      const { epoch } = await world.record();
      world.nowMs += agoMs;
      await world.ledger.setLease({ tenant, epoch, listedUntilMs: world.nowMs + hour });
      expect(await step({}, 9e15)).toBe('waiting');
      const waiting = await world.gc();
      expect(waiting.dueAtMs).toBe(world.nowMs + 30 * minute - agoMs);
      world.nowMs += minute;
      expect(await step({}, 9e15)).toBe('waiting');
      expect(await world.gc()).toEqual(waiting);
      world.nowMs = waiting.dueAtMs ?? 0;
      expect(await step({}, 9e15)).toMatchObject({ state: 'deleting' });
    },
  );

  it('shares with the other gc runs of the tenant what each lists after half an hour, so that reconciles have their turn', async () => {
    await open({ listRequestsPerHour: 60 });
    const { epoch } = await world.record();
    const listedUntilMs = world.nowMs + 4 * hour;
    await world.ledger.setLease({ tenant, epoch, listedUntilMs });
    world.nowMs += 30 * minute;
    const repos = await allPages(world.ledger.repos(tenant));
    const others = repos.map((record) => ({ ...record, repo: 'other' }));
    const input = { tenant, repos: [...repos, ...others], untilMs: world.nowMs };
    await advanceGc({ ...world.deps, ...slowly(0) }, input);
    // Half of the five that it would list alone.
    expect((await world.record()).listedUntilMs).toBe(listedUntilMs + 2 * minute);
  });

  it('is charged for what it listed though it fails', async () => {
    await open({ listRequestsPerHour: 60 });
    const broken: Partial<GcDeps> = {
      listing: {
        ...world.deps.listing,
        listPage: async (request) => {
          if (request.prefix.startsWith('_gc/')) return world.objects.listPage(request);
          throw new Error('A mistake of ours.');
        },
      },
    };
    await expect(step(broken)).rejects.toThrow('A mistake');
    expect(await charged()).toBe(16 * minute);
  });

  it('that is cancelled leaves no files', async () => {
    await step(slowly(second));
    expect((await written()).length).toBeGreaterThan(0);
    await cancelGc(world.deps, path);
    await advanceGc(world.deps, {
      tenant,
      repos: await allPages(world.ledger.repos(tenant)),
      untilMs: 9e15,
    });
    expect(await world.files()).toEqual([]);
  });

  it('takes nothing for old that was stored between its steps', async () => {
    await open({ listRequestsPerHour: 1e6 });
    await step(slowly(second));
    world.nowMs += minute;
    world.objects.put(`${tenant}/${repo}/${'f'.repeat(64)}`, 1, undefined, world.nowMs);
    world.nowMs += minute;
    const sums = { listed: { objectCount: 301 }, young: { objectCount: 1 } };
    expect(await step({}, 9e15)).toMatchObject({ state: 'deleting', selection: sums });
  });

  it('deletes nothing that is held since something between its steps', async () => {
    await step(slowly(second));
    world.nowMs += 10 * minute;
    world.holdFor(24 * hour);
    const before = await world.keys();
    for (let runs = 0; runs < 10; runs += 1) {
      world.nowMs += 10 * minute;
      await world.consume();
    }
    expect(await world.gc()).toMatchObject({ state: 'deleting' });
    expect(await world.keys()).toEqual(before);
    world.nowMs += 24 * hour;
    await world.consume();
    expect(await world.gc()).toMatchObject({ state: 'done' });
  });

  describe('beside pushes', () => {
    /** Names an object that is stored, as a push of old content does. */
    const name = async (oid: string) => {
      const verdicts = await world.push(repo, { [oid]: many.indexOf(oid) });
      if (typeof verdicts === 'string') throw new Error(verdicts);
      expect(verdicts.get(oid)?.kind).toBe('stored');
    };
    const finish = async () => {
      for (let run = 0; run < 100 && (await world.gc()).state !== 'done'; run += 1) {
        await world.consume();
        world.nowMs += minute;
      }
      return new Set((await world.keys()).map((key) => key.slice(repo.length + 1)));
    };
    const [_first = '', _last = ''] = [[...many].sort()[0], [...many].sort().at(-1)];

    it('keeps what batches name between its steps, listed already or not', async () => {
      await open({ listRequestsPerHour: 1e6 });
      const named: string[] = [];
      const random = new Random(1);
      while ((await world.gc()).state === 'selecting') {
        await step(slowly(second));
        const oid = random.pick(many);
        await name(oid);
        named.push(oid);
        expect(named.length).toBeLessThan(200);
        world.nowMs += 10 * minute;
      }
      expect(named.length).toBeGreaterThan(5);
      expect([...(await finish())].sort()).toEqual([...new Set(named)].sort());
    });
  });
});

describe('the choice of candidates of a large repo', () => {
  it('ends each run before the function does, and goes on in the next', async () => {
    const runMs = 290 * second;
    const settings = { gcWatchMs: 1, listRequestsPerHour: 1e6 };
    const made = new ScanningDeps({ tableMs: 0, headMs: 0, listMs: 500 }, settings);
    // As many pages as 20 million objects have.
    for (let index = 0; index < 20_000; index += 1)
      made.store.put(`${tenant}/${repo}/${sha256Hex(`${index}`)}`, 1, undefined, 0);
    const { listing, archives } = made.deps;
    const deps = replacingDeps(made.deps, {
      listing: {
        ...listing,
        listPage: (request: Parameters<typeof listing.listPage>[0]) =>
          listing.listPage({ ...request, maxKeys: 1 }),
      },
    });
    const keep = { reachableCount: 0, reachableSha256: sha256Hex(Buffer.of()) };
    await made.measure(async () => {
      await createTenant(deps, { tenant, plan: null, limitBytes: null });
      await made.ledger.createRepo({ tenant, repo, createdAtMs: deps.clock.nowMs() });
      const opened = await openGc(deps, path);
      if (opened.kind !== 'open') throw new Error(opened.kind);
      await deps.clock.sleep(minute);
      await archives.put(reachableSetKey(path), Buffer.of());
      const wish = { isDryRun: true, isForced: false, minAgeMs: 0 };
      expect(await startRun(deps, { tenant, repo, ...keep, ...wish })).toMatchObject({ kind: 'started' });
    });
    const listed: number[] = [];
    for (let run = 0; run < 5 && (await made.deps.gcRuns.read(path))?.state === 'selecting'; run += 1) {
      const { elapsedMs } = await made.measure(() => {
        const request = { tenant, reason: 'delete', full: false } as const;
        return runReconcile(deps, { request, deadlineMs: deps.clock.nowMs() + runMs });
      });
      expect(elapsedMs).toBeLessThan(runMs);
      const gc = await made.deps.gcRuns.read(path);
      listed.push((gc?.selection ?? gc?.selecting?.found)?.listed.objectCount ?? 0);
    }
    expect(listed.at(-1)).toBe(20_000);
    expect(listed).toHaveLength(3);
  });
});
