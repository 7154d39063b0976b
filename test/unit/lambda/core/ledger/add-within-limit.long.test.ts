import { beforeEach, describe, expect, it } from 'vitest';
import { checkUnconfirmed } from '../../../../../lambda/core/ledger/add-within-limit.ts';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

/** A reservation of small objects is lapsed then, by every clock. */
const deathMs = 37 * minute;
const hour = 60 * minute;

let world: MemoryStack;

/** What becomes of a batch of one object: `upload`, `over-limit`, `retry`, or `late`: it has to wait for what is late. */
async function push(madeBy: string | undefined, repo: string, objects: Readonly<Record<string, number>>) {
  const outcome = await admitUpload(world.deps, {
    tenant: await world.record(),
    repo,
    objects: new Map(Object.entries(objects)),
    madeBy,
  });
  if (outcome.kind === 'retry') return outcome.unconfirmedUntilMs === undefined ? 'retry' : 'late';
  if (outcome.kind === 'absent') return outcome.kind;
  return [...outcome.verdicts.values()].map(({ kind }) => kind).join(' ');
}

const laterLapsed = async () => {
  world.nowMs += deathMs;
  await world.runSchedule();
};

beforeEach(async () => {
  world = new MemoryStack();
  await world.create(1000);
});

describe('somebody who claims the limit and sends nothing', () => {
  beforeEach(async () => {
    expect(await push('mallory', 'mine', { [oidOf(1)]: 1000 })).toBe('upload');
    await laterLapsed();
  });

  it('has to wait before the next batch, and takes nobody room for a day', async () => {
    expect(await push('mallory', 'mine', { [oidOf(2)]: 1000 })).toBe('late');
    expect(await push('mallory', 'another', { [oidOf(2)]: 1000 })).toBe('late');
    expect(await push('mallory', 'mine', { [oidOf(2)]: 1 })).toBe('late');
    expect(await push('ada', 'game', { [oidOf(3)]: 1000 })).toBe('upload');
    world.put({ [`game/${oidOf(3)}`]: 1000 });
    await laterLapsed();
    expect(await world.usage()).toEqual({ committedBytes: 1000, storedBytes: 1000 });
  });

  it('is told until when, with a reconcile that may settle it sooner', async () => {
    const [unconfirmed] = world.reservations;
    const outcome = await admitUpload(world.deps, {
      tenant: await world.record(),
      repo: 'mine',
      objects: new Map([[oidOf(2), 1]]),
      madeBy: 'mallory',
    });
    expect(outcome).toMatchObject({
      kind: 'retry',
      unconfirmedUntilMs: (unconfirmed?.lapsedAtMs ?? 0) + 24 * hour,
    });
    expect(world.requests.at(-1)).toMatchObject({ reason: 'refusal' });
    // The batch has left no reservation.
    expect(world.reservations).toHaveLength(1);
  });

  it('may claim the same objects again, and others once they have arrived', async () => {
    expect(await push('mallory', 'mine', { [oidOf(1)]: 1000 })).toBe('upload');
    world.put({ [`mine/${oidOf(1)}`]: 400 });
    await world.consume();
    expect(await push('mallory', 'mine', { [oidOf(2)]: 600 })).toBe('upload');
  });

  it('may claim what is new after a day', async () => {
    await world.pass(25 * hour);
    expect(await push('mallory', 'mine', { [oidOf(2)]: 1000 })).toBe('upload');
  });

  it('cannot overtake the reconcile that finds it', async () => {
    await world.pass(25 * hour);
    expect(await push('mallory', 'mine', { [oidOf(4)]: 1000 })).toBe('upload');
    world.nowMs += deathMs;
    const before = await world.record();
    expect(before.unconfirmed).toBeUndefined();
    await world.runSchedule();
    const outcome = await admitUpload(world.deps, {
      tenant: before,
      repo: 'mine',
      objects: new Map([[oidOf(5), 1000]]),
      madeBy: 'mallory',
    });
    expect(outcome.kind).toBe('retry');
    expect((await world.record()).committedBytes).toBe(0);
  });
});

it('people whose uploads broke off may go on while all of it would fit, and up to a tenth of the limit in any case', async () => {
  expect(await push('ada', 'game', { [oidOf(1)]: 300 })).toBe('upload');
  await laterLapsed();
  expect((await world.record()).unconfirmed).toMatchObject({ bytes: 300 });
  expect(await push('ada', 'game', { [oidOf(2)]: 600 })).toBe('upload');
  // Live and late together: 300 + 600 + 101.
  expect(await push('ada', 'game', { [oidOf(3)]: 101 })).toBe('late');
  expect(await push('ben', 'game', { [oidOf(3)]: 101 })).toBe('upload');
});

it('batches at once bring no more than one after the other', async () => {
  expect(await push('mallory', 'mine', { [oidOf(1)]: 500 })).toBe('upload');
  await laterLapsed();
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => push('mallory', 'mine', { [oidOf(2 + index)]: 100 })),
  );
  expect(answers.filter((answer) => answer === 'upload')).toHaveLength(5);
  expect(answers.filter((answer) => answer === 'late')).toHaveLength(5);
  await laterLapsed();
  expect((await world.usage()).committedBytes).toBe(0);
});

it('batches at once for the same object do not vouch for each other', async () => {
  expect(await push('mallory', 'mine', { [oidOf(1)]: 1000 })).toBe('upload');
  await laterLapsed();
  const both = [1, 2].map(() => push('mallory', 'mine', { [oidOf(2)]: 1000 }));
  expect(await Promise.all(both)).toEqual(['late', 'late']);
});

it('a repo with a limit is guarded by its own numbers', async () => {
  world = new MemoryStack();
  await world.create(10_000);
  const { settingsVersion } = await world.record();
  await world.ledger.setRepoLimit({ tenant, repo: 'game', settingsVersion, limitBytes: 500 });
  await world.consume({ full: true });
  expect(await push('mallory', 'game', { [oidOf(1)]: 500 })).toBe('upload');
  await laterLapsed();
  const { unconfirmed, repoLimits } = await world.record();
  expect([unconfirmed, repoLimits.get('game')?.scanned?.unconfirmed?.bytes]).toEqual([undefined, 500]);
  expect(await push('mallory', 'game', { [oidOf(2)]: 500 })).toBe('late');
  expect(await push('mallory', 'other', { [oidOf(2)]: 500 })).toBe('upload');
  expect(await push('ada', 'game', { [oidOf(3)]: 500 })).toBe('upload');
});

it('what an older version has stored is nobody’s: it keeps nobody waiting', async () => {
  expect(await push(undefined, 'game', { [oidOf(1)]: 1000 })).toBe('upload');
  await laterLapsed();
  expect((await world.record()).unconfirmed).toBeUndefined();
  expect(await push('ada', 'game', { [oidOf(2)]: 1000 })).toBe('upload');
});

describe('somebody who claims more objects than one may, and sends none', () => {
  const batchOf = (first: number) =>
    Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [oidOf(first + index), 1]));

  it('is stopped until these are over, and stops nobody else', async () => {
    world = new MemoryStack();
    await world.create();
    const claimAll = async () => {
      for (let index = 0; ; index += 1) {
        world.nowMs += 1;
        const answer = await push('mallory', 'mine', batchOf(1000 * index));
        if (!answer.startsWith('upload')) return { index, answer };
      }
    };
    // A reconcile must tell first whose they are: from one to the next a tenant takes a quarter of what it may have.
    expect(await claimAll()).toEqual({ index: 249, answer: 'retry' });
    expect(world.requests.at(-1)).toMatchObject({ reason: 'refusal' });
    expect(await push('ada', 'game', batchOf(0))).toBe('retry');
    await world.consume();
    expect(await claimAll()).toEqual({ index: 0, answer: 'late' });
    expect(await push('mallory', 'other', { [oidOf(1)]: 0 })).toBe('late');
    expect(await push('ada', 'game', batchOf(0))).toMatch(/^upload/);
    await laterLapsed();
    expect(await push('mallory', 'mine', { [oidOf(1)]: 1 })).toBe('late');
    expect(await push('ada', 'game', batchOf(1000))).toMatch(/^upload/);
    world.nowMs += 25 * hour;
    await world.consume();
    expect(await push('mallory', 'mine', { [oidOf(1)]: 1 })).toBe('upload');
  });
});

describe('a batch that would be late beyond the limit', () => {
  const limit = { repo: null, limitBytes: 100, provenBytes: 0, scannedBytes: 40, committedBytes: 70 };
  const waits = (
    bytes: number,
    more: { unconfirmedBytes?: number; madeBy?: string; nowMs?: number } = {},
  ) => {
    const { unconfirmedBytes = 20, madeBy = 'ada', nowMs = 5 } = more;
    const unconfirmed = { bytes: unconfirmedBytes, makers: new Map([['ada', 5]]) };
    const verdict = checkUnconfirmed([{ ...limit, unconfirmed }], { madeBy, bytes, nowMs });
    return verdict.kind === 'waits' ? verdict.untilMs : undefined;
  };

  it('waits: what is late, what is live, and what it asks for', () => {
    expect([waits(50), waits(51)]).toEqual([undefined, 5]);
  });

  it('is one of somebody who has a part in it, until that is over', () => {
    expect([waits(51, { madeBy: 'ben' }), waits(51, { nowMs: 6 })]).toEqual([undefined, undefined]);
  });

  it('does not count twice what is late beyond the limit already', () => {
    // 20 of the 30 in the counter are live, and 10 of them late.
    expect([waits(0, { unconfirmedBytes: 110 }), waits(0, { unconfirmedBytes: 100 })]).toEqual([5, 5]);
  });
});
