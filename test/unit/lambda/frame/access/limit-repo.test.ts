import { beforeEach, describe, expect, it, vi } from 'vitest';
import { repoLimitsMax } from '../../../../../lambda/core/ledger/rules/tenant.ts';
import type { UploadVerdict } from '../../../../../lambda/core/ledger/upload-batch.ts';
import { limitRepo } from '../../../../../lambda/frame/access/repos.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

/** In the order of the oids. */
const kindsOf = (verdicts: ReadonlyMap<string, UploadVerdict> | 'retry' | 'absent') =>
  typeof verdicts === 'string' ? verdicts : [...verdicts].sort().map(([, { kind }]) => kind);

describe('a repo with a limit of its own', () => {
  let world: MemoryStack;
  const limit = async (repo: string, limitBytes: number | null) =>
    limitRepo(world.deps, {
      tenant: await world.record(),
      beganMs: world.nowMs,
      repo,
      limitBytes,
    });
  const limitIn = async (repo: string) => (await world.record()).repoLimits.get(repo);

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(1000);
  });

  it('takes what fits, and nothing beyond it, while other repos have room', async () => {
    await limit('app', 100);
    expect(kindsOf(await world.push('app', { [oidOf(1)]: 60, [oidOf(2)]: 41, [oidOf(3)]: 40 }))).toEqual([
      'upload',
      'over-limit',
      'upload',
    ]);
    expect(kindsOf(await world.push('app', { [oidOf(4)]: 1 }))).toEqual(['over-limit']);
    expect(kindsOf(await world.push('web', { [oidOf(4)]: 500 }))).toEqual(['upload']);
  });

  it('tells in its refusal whose limit it is', async () => {
    await limit('app', 100);
    world.put({ [`app/${oidOf(1)}`]: 70 });
    await world.consume({ full: true });
    const verdicts = await world.push('app', { [oidOf(2)]: 31 });
    const verdict = typeof verdicts === 'string' ? undefined : verdicts.get(oidOf(2));
    expect(verdict).toMatchObject({
      kind: 'over-limit',
      refusal: { repo: 'app', limitBytes: 100, storedBytes: 70, reservedBytes: 0, missingBytes: 1 },
    });
  });

  it('counts what was promised before it had a limit', async () => {
    await world.push('app', { [oidOf(1)]: 80 });
    await limit('app', 100);
    expect(kindsOf(await world.push('app', { [oidOf(2)]: 21 }))).toEqual(['over-limit']);
    expect(kindsOf(await world.push('app', { [oidOf(3)]: 20 }))).toEqual(['upload']);
    expect((await limitIn('app'))?.scanned).toMatchObject({ committedBytes: 100, storedBytes: 0 });
  });

  it('has room again once its objects are gone, or what was promised can no longer arrive', async () => {
    await limit('app', 100);
    await world.push('app', { [oidOf(1)]: 100 });
    expect(kindsOf(await world.push('app', { [oidOf(2)]: 10 }))).toEqual(['over-limit']);
    world.nowMs += 60 * minute;
    expect(kindsOf(await world.push('app', { [oidOf(2)]: 10 }))).toEqual(['upload']);
  });

  it('refuses by its floor without a reconcile', async () => {
    await limit('app', 100);
    world.put({ [`app/${oidOf(1)}`]: 90 });
    await world.consume({ full: true });
    const { epoch } = await world.record();
    expect(kindsOf(await world.push('app', { [oidOf(2)]: 11 }))).toEqual(['over-limit']);
    expect((await world.record()).epoch).toBe(epoch);
    // A delete anywhere lowers the floor: then a reconcile decides.
    const note = { repo: 'web', bytes: 5, deadlineMs: world.nowMs };
    await world.ledger.announceDelete({ tenant, intentId: 'n', note });
    expect(kindsOf(await world.push('app', { [oidOf(2)]: 11 }))).toEqual(['over-limit']);
    expect((await world.record()).epoch).toBe(epoch + 1);
  });

  it('lets the tenant limit decide if that is tighter', async () => {
    await limit('app', 2000);
    await world.push('web', { [oidOf(1)]: 950 });
    const verdicts = await world.push('app', { [oidOf(2)]: 51 });
    const verdict = typeof verdicts === 'string' ? undefined : verdicts.get(oidOf(2));
    expect(verdict).toMatchObject({ kind: 'over-limit', refusal: { repo: null, limitBytes: 1000 } });
  });

  it('has a reconcile asked for when its limit changes, and only then', async () => {
    expect(await limit('app', 100)).toMatchObject({ kind: 'limited' });
    expect(world.requests).toEqual([{ tenant, reason: 'manual', full: false }]);
    const { epoch } = await world.record();
    const record = await world.record();
    const unchanged = { kind: 'limited', before: record, tenant: record };
    expect(await limit('app', 100)).toEqual(unchanged);
    expect(await limit('web', null)).toEqual(unchanged);
    expect(world.requests).toHaveLength(1);
    expect((await world.record()).epoch).toBe(epoch);
    await limit('app', null);
    expect(await limitIn('app')).toBeUndefined();
    expect(world.requests).toHaveLength(2);
  });

  it('is counted though the answer to the write that set it was lost', async () => {
    const write = world.ledger.setRepoLimit.bind(world.ledger);
    vi.spyOn(world.ledger, 'setRepoLimit').mockImplementationOnce(async (input) => {
      await write(input);
      return write(input);
    });
    const before = await world.record();
    const outcome = await limit('app', 100);
    const tenantNow = await world.record();
    expect(outcome).toEqual({ kind: 'limited', before, tenant: tenantNow });
    expect(tenantNow.epoch).toBe(before.epoch + 1);
    expect(world.requests).toEqual([{ tenant, reason: 'manual', full: false }]);
  });

  it('tells what it was set over, whoever has set it since it was read', async () => {
    const read = await world.record();
    await limit('app', 50);
    const before = await world.record();
    const change = { tenant: read, beganMs: world.nowMs, repo: 'app', limitBytes: 100 };
    expect(await limitRepo(world.deps, change)).toEqual({
      kind: 'limited',
      before,
      tenant: await world.record(),
    });
  });

  it('is one of fifty at most', async () => {
    for (let index = 0; index < repoLimitsMax; index += 1)
      expect((await limit(`repo-${index}`, 5)).kind).toBe('limited');
    expect(await limit('one-more', 5)).toEqual({ kind: 'too-many' });
    expect((await limit('repo-3', 6)).kind).toBe('limited');
    expect((await limit('repo-4', null)).kind).toBe('limited');
    expect((await limit('one-more', 5)).kind).toBe('limited');
  });

  it('is none of a tenant that has gone meanwhile', async () => {
    const before = { ...(await world.record()), tenant: 'nobody' };
    const change = { tenant: before, beganMs: world.nowMs, repo: 'app', limitBytes: 5 };
    expect(await limitRepo(world.deps, change)).toEqual({ kind: 'absent' });
    expect(world.requests).toEqual([]);
  });

  it('is set though others set those of other repos at the same time', async () => {
    const repos = ['app', 'web', 'art'];
    const outcomes = await Promise.all(repos.map((repo) => limit(repo, 5)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['limited', 'limited', 'limited']);
    expect([...(await world.record()).repoLimits.keys()].sort()).toEqual(['app', 'art', 'web']);
    expect(world.requests).toHaveLength(3);
  });

  it('stays one of fifty at most, whoever sets others at the same time', async () => {
    for (let index = 1; index < repoLimitsMax; index += 1) await limit(`repo-${index}`, 5);
    const outcomes = await Promise.all([limit('app', 5), limit('web', 5)]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['limited', 'too-many']);
  });
});
