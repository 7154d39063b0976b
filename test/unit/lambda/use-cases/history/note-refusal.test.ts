import { describe, expect, it } from 'vitest';
import type { History } from '../../../../../lambda/adapters/dynamodb/history.ts';
import { RefusalTally } from '../../../../../lambda/domain/refusal-tally.ts';
import { noteRefusal } from '../../../../../lambda/use-cases/history/note-refusal.ts';
import { readHistory } from '../../../../../lambda/use-cases/history/read-history.ts';
import { admitUpload } from '../../../../../lambda/use-cases/uploads/admit-upload.ts';
import { MemoryStack, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { MemoryHistory, MemoryWarnings } from '../../../../support/memory/stores.ts';
import { setRepoLimit } from '../../../../support/over-settings.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

const refusal = {
  repo: null,
  oids: [oidOf(3)],
  refusedBytes: 500,
  missingBytes: 450,
  storedBytes: 100,
  limitBytes: 150,
};
const by = { repo: 'a', user: 'ada' };
const range = { tenant, from: '2020-01-01', to: '2099-01-01' };

async function world() {
  const made = new MemoryStack();
  made.put({ [`a/${oidOf(1)}`]: 100 });
  await made.create(150);
  const refusals = async () => (await made.deps.history.days(range)).map((day) => day.refusals);
  const push = (index: number, sizeBytes: number) => made.push('a', { [oidOf(index)]: sizeBytes });
  return { made, refusals, push };
}

describe('a refused batch', () => {
  it('is counted on its day, also if only some of it is refused; an admitted one is not', async () => {
    const { made, refusals, push } = await world();
    await push(2, 10);
    expect(await refusals()).toEqual([0]);
    await push(3, 500);
    expect(await refusals()).toEqual([1]);
    await made.push('a', { [oidOf(4)]: 10, [oidOf(5)]: 500 });
    expect(await refusals()).toEqual([2]);
    made.nowMs += 86_400_000;
    await push(3, 500);
    const days = await made.deps.history.days(range);
    expect(days.map((day) => day.refusals)).toEqual([2, 1]);
  });

  it('for the limit of its repo alone is not the tenant’s', async () => {
    const { made, refusals } = await world();
    await setRepoLimit(made.ledger, { tenant, repo: 'b', limitBytes: 5 });
    const verdicts = await made.push('b', { [oidOf(2)]: 6 });
    expect([...(verdicts as ReadonlyMap<string, { kind: string }>).values()]).toMatchObject([
      { kind: 'over-limit' },
    ]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await refusals()).toEqual([0]);
    expect((await made.deps.warnings.read(tenant)).pending).toEqual([]);
    // The push is shown all the same, with what the tenant stores.
    const [day] = await made.deps.history.days(range);
    expect(day).toMatchObject({
      storedBytes: 100,
      lastRefusals: [{ repo: 'b', user: null, files: 1, bytes: 6, shortBytes: 1, limit: 'repo' }],
    });
  });

  it('is kept for a day with its repo, user and what was missing', async () => {
    const { made } = await world();
    const record = await made.ledger.readTenant(tenant);
    if (!record) throw new Error('No tenant.');
    const objects = new Map([
      [oidOf(8), 20],
      [oidOf(9), 500],
      [oidOf(10), 40],
    ]);
    const outcome = await admitUpload(made.deps, { tenant: record, repo: 'a', user: 'ada', objects });
    if (outcome.kind !== 'answered') throw new Error('No answer.');
    const told = [...outcome.verdicts.values()].find((verdict) => verdict.kind === 'over-limit');
    const lastRefusals = async () => (await readHistory(made.deps, { tenant: record })).lastRefusals;
    const { oids = [], refusedBytes: bytes, missingBytes: shortBytes } = told?.refusal ?? {};
    const found = { atMs: made.nowMs, repo: 'a', user: 'ada', files: oids.length, bytes, shortBytes };
    expect(bytes).toBeGreaterThanOrEqual(500);
    expect(await lastRefusals()).toEqual([{ ...found, limit: 'tenant' }]);
    made.nowMs += 25 * 3_600_000;
    expect(await lastRefusals()).toEqual([]);
  });

  it.each([
    ['fails', async () => Promise.reject(new Error('The table is down.'))],
    ['never ends', () => new Promise<never>(() => undefined)],
  ])('is answered though the write of the history %s', async (_, addRefusals) => {
    const { made } = await world();
    const history: History = Object.assign(new MemoryHistory(), { addRefusals });
    const record = await made.ledger.readTenant(tenant);
    if (!record) throw new Error('No tenant.');
    const { log, entries } = recordingLog();
    const outcome = await admitUpload(
      { ...made.deps, history, log },
      { tenant: record, repo: 'a', objects: new Map([[oidOf(9), 500]]) },
    );
    expect(outcome).toMatchObject({ kind: 'answered' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(entries.filter(({ message }) => message === 'refusal not noted').length).toBe(
      _ === 'fails' ? 1 : 0,
    );
  });

  it('that could not be written is written with the next, and one in a loop costs no write each time', async () => {
    const { made } = await world();
    const kept = new MemoryHistory();
    const writes: number[] = [];
    let isBroken = true;
    const history: History = Object.assign(new MemoryHistory(), {
      addRefusals: async (refused: Parameters<History['addRefusals']>[0]) => {
        if (isBroken) throw new Error('The table is down.');
        writes.push(refused.count);
        await kept.addRefusals(refused);
      },
    });
    const deps = { ...made.deps, history, refusalTally: new RefusalTally() };
    const counted = { storedBytes: 100, objectCount: 1, countedAtMs: 1 };
    await noteRefusal(deps, { tenant, counted }, refusal, by);
    isBroken = false;
    for (let index = 0; index < 50; index += 1) await noteRefusal(deps, { tenant, counted }, refusal, by);
    expect(writes).toEqual([2, ...Array(8).fill(1)]);
    expect(await kept.days(range)).toMatchObject([{ refusals: 10, storedBytes: 100, maxStoredBytes: 100 }]);
  });

  it('of a tenant that was never counted is not noted', async () => {
    const { made } = await world();
    const history = new MemoryHistory();
    await noteRefusal({ ...made.deps, history }, { tenant, counted: null }, refusal, by);
    expect(await history.days(range)).toEqual([]);
  });

  it('is warned of once a day by each process, and again if that failed, which is logged', async () => {
    const { made } = await world();
    const { log, entries } = recordingLog();
    const error = new Error('The table is down.');
    const counted = { storedBytes: 100, objectCount: 1, countedAtMs: 1 };
    const raised: unknown[] = [];
    let isBroken = true;
    const warnings = Object.assign(new MemoryWarnings(), {
      raiseFull: async (input: unknown) => {
        raised.push(input);
        if (isBroken) throw error;
        return 'raised' as const;
      },
    });
    const deps = { ...made.deps, warnings, log, refusalTally: new RefusalTally() };
    const refuse = () => noteRefusal(deps, { tenant, counted }, refusal, by);
    await refuse();
    expect(entries).toEqual([{ level: 'warn', message: 'refusal not warned of', fields: { tenant, error } }]);
    isBroken = false;
    for (let index = 0; index < 3; index += 1) await refuse();
    expect(raised).toHaveLength(2);
    made.nowMs += 86_400_000;
    await refuse();
    expect(raised).toHaveLength(3);
  });

  it('that could not be counted is logged', async () => {
    const { made } = await world();
    const { log, entries } = recordingLog();
    const error = new Error('The table is down.');
    const history: History = Object.assign(new MemoryHistory(), { addRefusals: () => Promise.reject(error) });
    const counted = { storedBytes: 100, objectCount: 1, countedAtMs: 1 };
    await noteRefusal({ ...made.deps, history, log }, { tenant, counted }, refusal, by);
    expect(entries).toEqual([{ level: 'warn', message: 'refusal not noted', fields: { tenant, error } }]);
  });
});
