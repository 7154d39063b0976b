import { describe, expect, it } from 'vitest';
import type { History } from '../../../../../lambda/adapters/dynamodb/history.ts';
import { dayOf } from '../../../../../lambda/rules/text.ts';
import { noteCount } from '../../../../../lambda/use-cases/history/note-count.ts';
import { runRecount } from '../../../../../lambda/use-cases/recounts/run-recount.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { MemoryHistory } from '../../../../support/memory/stores.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

const day = 86_400_000;
const range = { tenant, from: '2020-01-01', to: '2099-01-01' };

async function world() {
  const made = new MemoryStack();
  made.put({ [`a/${oidOf(1)}`]: 100, [`b/${oidOf(2)}`]: 20 });
  await made.create(1000);
  const days = () => made.deps.history.days(range);
  return { made, days };
}

describe('a recount', () => {
  it('is noted as the value of its day, with the highest of the day', async () => {
    const { made, days } = await world();
    const first = {
      day: dayOf(made.nowMs),
      storedBytes: 120,
      objectCount: 2,
      maxStoredBytes: 120,
      refusals: 0,
    };
    expect(await days()).toEqual([first]);
    await made.objects.delete([`${tenant}/a/${oidOf(1)}`]);
    await made.consume({ full: true });
    expect(await days()).toEqual([{ ...first, storedBytes: 20, objectCount: 1 }]);
    made.nowMs += day;
    made.put({ [`a/${oidOf(3)}`]: 1 });
    await made.consume({ full: true });
    // The new day began with 20.
    expect(await days()).toEqual([
      { ...first, storedBytes: 20, objectCount: 1 },
      { day: dayOf(made.nowMs), storedBytes: 21, objectCount: 2, maxStoredBytes: 21, refusals: 0 },
    ]);
    made.nowMs += day;
    await made.objects.delete([`${tenant}/b/${oidOf(2)}`]);
    await made.consume({ full: true });
    expect((await days()).at(-1)).toMatchObject({ storedBytes: 1, maxStoredBytes: 21 });
  });

  it('whose note is lost does not fail, is logged and counted, and the next one makes up for it', async () => {
    const { made } = await world();
    const { log, entries } = recordingLog();
    const counted: string[] = [];
    const metrics = { ...made.deps.metrics, increment: (name: string) => void counted.push(name) };
    const kept = new MemoryHistory();
    let isBroken = true;
    const history: History = {
      ...bound(kept),
      note: async (count) => {
        if (isBroken) throw new Error('The table is down.');
        return kept.note(count);
      },
    };
    const recount = () =>
      runRecount(
        { ...made.deps, history, log, metrics },
        { request: { tenant, reason: 'manual', full: true }, deadlineMs: made.nowMs + 14 * minute },
      );
    expect(await recount()).toBe('done');
    expect(counted).toContain('HistoryNotNoted');
    expect(entries.some(({ message }) => message === 'history not noted')).toBe(true);
    expect(await kept.days(range)).toEqual([]);
    isBroken = false;
    expect(await recount()).toBe('done');
    expect(await kept.days(range)).toMatchObject([{ storedBytes: 120, objectCount: 2 }]);
  });

  it('of which it is not known whether it was noted may be the newest', async () => {
    const { made } = await world();
    const { log, entries } = recordingLog();
    const error = new Error('The table is down.');
    const history: History = { ...bound(new MemoryHistory()), note: () => Promise.reject(error) };
    const after = await made.record();
    expect(await noteCount({ ...made.deps, history, log }, { before: after, after, epoch: 1 })).toBe(
      'unknown',
    );
    expect(entries).toEqual([{ level: 'warn', message: 'history not noted', fields: { tenant, error } }]);
  });

  it('of a tenant that was never counted, or is being deleted, is not noted', async () => {
    const { made } = await world();
    const history = new MemoryHistory();
    const note = (after: object) => {
      const before = tenantRecord({ tenant });
      return noteCount({ ...made.deps, history }, { before, after: { ...before, ...after }, epoch: 1 });
    };
    const counted = { storedBytes: 5, objectCount: 1, countedAtMs: 1 };
    expect(await note({ counted: null, closedAtMs: null })).toBe('unknown');
    expect(await note({ counted, closedAtMs: 7 })).toBe('unknown');
    expect(await history.days(range)).toEqual([]);
    expect(await note({ counted, closedAtMs: null })).toBe('noted');
    expect(await history.days(range)).toHaveLength(1);
  });
});

function bound(history: MemoryHistory): History {
  return {
    note: (count) => history.note(count),
    addRefusals: (refused) => history.addRefusals(refused),
    days: (input) => history.days(input),
    forgetSome: (input) => history.forgetSome(input),
  };
}
