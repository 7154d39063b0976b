import { describe, expect, it } from 'vitest';
import { noteLevel, noteLimit } from '../../../../lambda/alerts/alerts.ts';
import { runRecount } from '../../../../lambda/ledger/run-reconcile.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../support/memory/stack.ts';
import { MemoryWarnings } from '../../../support/memory/stores.ts';
import { updateTenant } from '../../../support/over-settings.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { tenantRecord } from '../../../support/tenant-record.ts';

const day = 86_400_000;

/** A tenant with a limit of 1,000 bytes. */
async function world() {
  const made = new MemoryStack();
  await made.create(1000);
  const pending = async () =>
    (await made.deps.warnings.read(tenant)).pending.map(({ warning }) =>
      warning.kind === 'level' ? [warning.previousLevel, warning.level, warning.storedBytes] : [warning.kind],
    );
  const recount = () => made.consume({ full: true });
  return { made, pending, recount };
}

describe('a recount', () => {
  it('warns once for each level that is reached or left', async () => {
    const { made, pending, recount } = await world();
    const steps = [
      [700, []],
      [810, [[0, 80, 810]]],
      [800, []],
      [760, []],
      [900, [[80, 90, 900]]],
      [860, []],
      [840, [[90, 80, 840]]],
      [100, [[80, 0, 100]]],
      [950, [[0, 90, 950]]],
    ] as const;
    const raised: unknown[] = [];
    for (const [storedBytes, more] of steps) {
      made.put({ [`a/${oidOf(1)}`]: storedBytes });
      for (let times = 0; times < 3; times += 1) await recount();
      raised.push(...more);
      expect(await pending()).toEqual(raised);
    }
  });

  it('counts what is stored, and not what is promised to uploads', async () => {
    const { made, pending, recount } = await world();
    await made.push('a', { [oidOf(1)]: 950 });
    await recount();
    expect((await made.ledger.readTenant(tenant))?.committedBytes).toBe(950);
    expect(await pending()).toEqual([]);
  });

  it('that runs twice at the same time warns once', async () => {
    const { made, pending, recount } = await world();
    made.put({ [`a/${oidOf(1)}`]: 850 });
    await Promise.all(Array.from({ length: 5 }, recount));
    expect(await pending()).toEqual([[0, 80, 850]]);
  });

  it('that is not the newest warns of nothing; of one nobody knows that of, it does', async () => {
    const { made } = await world();
    const note = async (noted: 'noted' | 'older' | 'unknown', more: object = {}) => {
      const warnings = new MemoryWarnings();
      const counted = { storedBytes: 85, objectCount: 1, countedAtMs: 1 };
      const after = { ...tenantRecord({ tenant, limitBytes: 100, counted }), ...more };
      await noteLevel({ ...made.deps, warnings }, { after, epoch: 1, noted: Promise.resolve(noted) });
      return (await warnings.read(tenant)).level;
    };
    expect(await note('noted')).toBe(80);
    expect(await note('unknown')).toBe(80);
    expect(await note('older')).toBe(0);
  });

  it('whose warning fails does not fail, and the next one makes up for it', async () => {
    const { made } = await world();
    made.put({ [`a/${oidOf(1)}`]: 850 });
    const kept = new MemoryWarnings();
    const { log, entries } = recordingLog();
    for (const broken of ['read', 'raiseLevel'] as const) {
      const warnings = Object.assign(new MemoryWarnings(), {
        [broken]: async () => Promise.reject(new Error('The table is down.')),
      });
      const outcome = await runRecount(
        { ...made.deps, warnings, log },
        { request: { tenant, reason: 'manual', full: true }, deadlineMs: made.nowMs + 14 * minute },
      );
      expect(outcome).toBe('done');
    }
    expect(entries.filter(({ message }) => message === 'level not noted')).toHaveLength(2);
    await runRecount(
      { ...made.deps, warnings: kept },
      { request: { tenant, reason: 'manual', full: true }, deadlineMs: made.nowMs + 14 * minute },
    );
    expect((await kept.read(tenant)).level).toBe(80);
  });
});

describe('a change of the limit', () => {
  it('warns like a recount, and of a recount that knows the old one only', async () => {
    const { made, pending, recount } = await world();
    made.put({ [`a/${oidOf(1)}`]: 500 });
    await recount();
    const stale = await made.ledger.readTenant(tenant);
    if (!stale) throw new Error('No tenant.');
    const limit = async (limitBytes: number | null) => {
      const changed = await updateTenant(made.ledger, { tenant, limitBytes });
      if (!changed) throw new Error('No tenant.');
      await noteLimit(made.deps, changed);
    };
    await limit(550);
    expect(await pending()).toEqual([[0, 90, 500]]);
    await noteLevel(made.deps, { after: stale, epoch: stale.epoch, noted: Promise.resolve('noted') });
    expect(await pending()).toHaveLength(1);
    await limit(null);
    expect(await pending()).toEqual([
      [0, 90, 500],
      [90, 0, 500],
    ]);
    // It changed nothing here, and yet the recount with the old limit is over.
    await limit(10_000);
    await noteLevel(made.deps, {
      after: { ...stale, limitBytes: 550 },
      epoch: stale.epoch + 2,
      noted: Promise.resolve('noted'),
    });
    expect(await pending()).toHaveLength(2);
  });

  it('of a tenant that was never counted, or whose table fails, warns of nothing and does not fail', async () => {
    const { made } = await world();
    await noteLimit(made.deps, tenantRecord({ tenant: 'other', counted: null }));
    expect((await made.deps.warnings.read('other')).pending).toEqual([]);
    const { log, entries } = recordingLog();
    const warnings = Object.assign(new MemoryWarnings(), {
      ignoreBefore: async () => Promise.reject(new Error('The table is down.')),
    });
    const counted = { storedBytes: 85, objectCount: 1, countedAtMs: 1 };
    await noteLimit({ ...made.deps, warnings, log }, tenantRecord({ tenant, counted }));
    expect(entries.map(({ message }) => message)).toEqual(['level not noted']);
  });
});

describe('the level of a tenant', () => {
  const counted = { storedBytes: 85, objectCount: 1, countedAtMs: 1 };
  it.each([
    ['it was never counted', { counted: null }],
    ['it is being deleted', { counted, closedAtMs: 5 }],
  ])('is neither read nor written if %s', async (_, more) => {
    const { made } = await world();
    const { log, entries } = recordingLog();
    const asked = () => Promise.reject(new Error('Nothing is to be asked.'));
    const warnings = Object.assign(new MemoryWarnings(), { read: asked, ignoreBefore: asked });
    const after = tenantRecord({ tenant, ...more });
    const noted = Promise.resolve('noted' as const);
    await noteLevel({ ...made.deps, warnings, log }, { after, epoch: 1, noted });
    if (after.counted === null) await noteLimit({ ...made.deps, warnings, log }, after);
    expect(entries).toEqual([]);
  });

  it('that cannot be read is logged with its tenant', async () => {
    const { made } = await world();
    const { log, entries } = recordingLog();
    const error = new Error('The table is down.');
    const warnings = Object.assign(new MemoryWarnings(), { read: () => Promise.reject(error) });
    const after = tenantRecord({ tenant, counted });
    await noteLevel({ ...made.deps, warnings, log }, { after, epoch: 1, noted: Promise.resolve('noted') });
    await noteLimit({ ...made.deps, warnings, log }, after);
    const entry = { level: 'warn', message: 'level not noted', fields: { tenant, error } };
    expect(entries).toEqual([entry, entry]);
  });
});

describe('a refusal', () => {
  it('warns that the tenant is full, once a day', async () => {
    const { made, pending } = await world();
    const refused = () => made.push('a', { [oidOf(9)]: 5000 });
    await refused();
    await refused();
    expect(await pending()).toEqual([['full']]);
    made.nowMs += day;
    await refused();
    await refused();
    expect(await pending()).toEqual([['full'], ['full']]);
  });

  it('says what is stored as its batch has counted it, and not as it began', async () => {
    const { made } = await world();
    await made.push('a', { [oidOf(1)]: 700 });
    made.put({ [`a/${oidOf(1)}`]: 700 });
    await made.push('a', { [oidOf(9)]: 400 });
    expect((await made.deps.warnings.read(tenant)).pending.at(-1)?.warning).toMatchObject({
      kind: 'full',
      storedBytes: 700,
      limitBytes: 1000,
    });
  });

  it('is tried again by the next one if it failed', async () => {
    const { made } = await world();
    let isBroken = true;
    const kept = new MemoryWarnings();
    made.deps.warnings.raiseFull = async (input) => {
      if (isBroken) throw new Error('The table is down.');
      return kept.raiseFull(input);
    };
    await made.push('a', { [oidOf(9)]: 5000 });
    isBroken = false;
    await made.push('a', { [oidOf(9)]: 5000 });
    expect((await kept.read(tenant)).pending).toHaveLength(1);
  });
});

it('the warnings of a tenant go with it', async () => {
  const { made, recount } = await world();
  made.put({ [`a/${oidOf(1)}`]: 950 });
  await recount();
  await made.ledger.closeTenant({ tenant, closedAtMs: made.nowMs });
  await recount();
  expect(await made.deps.warnings.read(tenant)).toEqual({ level: 0, pending: [] });
});
