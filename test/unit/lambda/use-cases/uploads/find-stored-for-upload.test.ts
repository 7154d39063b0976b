import { beforeEach, describe, expect, it } from 'vitest';
import { newDeletion } from '../../../../../lambda/domain/deletion.ts';
import { KnownObjects } from '../../../../../lambda/scan/rules/known-objects.ts';
import { runDeletion } from '../../../../../lambda/use-cases/deletes/run-deletions.ts';
import { admitUpload } from '../../../../../lambda/use-cases/uploads/admit-upload.ts';
import { findStoredForUpload } from '../../../../../lambda/use-cases/uploads/find-stored-for-upload.ts';
import { newTenant } from '../../../../support/ledger-records.ts';
import { CountingDeps } from '../../../../support/memory/counting-deps.ts';
import { updateTenant } from '../../../../support/over-settings.ts';

const [tenant, repo] = ['acme', 'app'];
const oidOf = (index: number) => `${index.toString(16).padStart(4, '0')}${'0'.repeat(60)}`;
const range = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);

describe('a push of many objects', () => {
  let made: CountingDeps;
  const read = async () => {
    const record = await made.ledger.readTenant(tenant);
    if (!record) throw new Error('There is no tenant.');
    return record;
  };
  /** Asks for objects of a few bytes. */
  const ask = async (
    indexes: readonly number[],
    more: { sizeBytes?: number; repoObjects?: number; knownObjects?: KnownObjects } = {},
  ) => {
    const { sizeBytes = 10, repoObjects = 0, knownObjects = made.deps.knownObjects } = more;
    const record = await read();
    made.calls.length = 0;
    const objects = new Map(indexes.map((index) => [oidOf(index), sizeBytes]));
    const deps = { ...made.deps, knownObjects };
    const { result } = await made.measure(() =>
      admitUpload(deps, { tenant: record, repo, repoObjects, objects }),
    );
    if (result.kind !== 'answered') throw new Error(`Answered ${result.kind}.`);
    const kinds = [...result.verdicts.values()].map(({ kind }) => kind);
    const count = (name: string) => made.calls.filter((call) => call.name === name).length;
    return { kinds: [...new Set(kinds)], lists: count('LIST'), heads: count('HEAD') };
  };
  const put = (index: number, sizeBytes = 10) =>
    made.store.put(`${tenant}/${repo}/${oidOf(index)}`, sizeBytes);
  const unasked = { kinds: ['upload'], lists: 0, heads: 0 };

  beforeEach(async () => {
    made = new CountingDeps({ tableMs: 10, headMs: 10, listMs: 10 });
    const counted = { storedBytes: 0, objectCount: 0, countedAtMs: 0 };
    await made.ledger.createTenant(newTenant(tenant, { counted }));
  });

  it('lists the repo once, and takes what that listing had not for new', async () => {
    expect(await ask(range(0, 100))).toEqual({ kinds: ['upload'], lists: 1, heads: 0 });
    expect(await ask(range(100, 100))).toEqual(unasked);
    await made.advance(60_001);
    expect(await ask(range(200, 100))).toMatchObject({ lists: 1 });
  });

  it('asks again for what it has offered, in case it has arrived, and says so', async () => {
    await ask(range(0, 100));
    for (const index of range(0, 3)) put(index);
    expect(await ask([0, 1, 2, 500])).toEqual({ kinds: ['stored', 'upload'], lists: 0, heads: 3 });
  });

  it('takes what was listed a moment ago for stored, without asking', async () => {
    for (const index of range(0, 200)) put(index);
    const stored = { kinds: ['stored'], heads: 0 };
    expect(await ask(range(0, 100), { repoObjects: 200 })).toEqual({ ...stored, lists: 1 });
    await made.advance(made.deps.settings.listingTrustMs - 100);
    expect(await ask(range(100, 100), { repoObjects: 200 })).toEqual({ ...stored, lists: 0 });
    await made.advance(101);
    expect(await ask(range(0, 100), { repoObjects: 200 })).toEqual({ ...stored, lists: 1 });
  });

  it('asks only for what it does not know', async () => {
    for (const index of range(0, 20)) put(index);
    await ask(range(0, 20), { repoObjects: 20 });
    await ask([20], { repoObjects: 20 });
    put(20);
    expect(await ask([0, 1, 20, 21], { repoObjects: 20 })).toEqual({
      kinds: ['stored', 'upload'],
      lists: 0,
      heads: 1,
    });
  });

  it('is told the stored size of what was listed', async () => {
    for (const index of range(0, 20)) put(index, 9);
    await ask(range(100, 20), { repoObjects: 20 });
    expect(await ask(range(0, 2))).toEqual({ kinds: ['size-conflict'], lists: 0, heads: 0 });
  });

  it('waits if what was listed has been deleted since, and then asks again: who is told "stored" must not lose it', async () => {
    for (const index of range(0, 20)) put(index);
    await ask(range(0, 20), { repoObjects: 20 });
    const deletion = newDeletion({ id: 'd', repo, objects: new Map([[oidOf(0), 10]]), dueAtMs: 0 });
    await made.ledger.putDeletion({ tenant, deletion });
    await made.measure(() => runDeletion(made.deps, { tenant, deletion, isClosed: false }));
    await expect(ask([0, 1])).rejects.toThrow('Answered retry.');
    expect(await ask([0, 1])).toEqual({ kinds: ['stored', 'upload'], lists: 0, heads: 2 });
  });

  it('asks for each object of a MiB or more', async () => {
    await ask(range(0, 100));
    expect(await ask(range(100, 5), { sizeBytes: 1024 ** 2 - 1 })).toEqual(unasked);
    expect(await ask(range(200, 5), { sizeBytes: 1024 ** 2 })).toMatchObject({ lists: 0, heads: 5 });
  });

  it('asks for everything if it might not fit', async () => {
    await ask(range(0, 100));
    await updateTenant(made.ledger, { tenant, limitBytes: 1100 });
    expect(await ask(range(100, 10))).toEqual(unasked);
    expect(await ask([200], { sizeBytes: 0 })).toEqual(unasked);
    put(300);
    expect(await ask([300])).toEqual({ kinds: ['stored'], lists: 0, heads: 1 });
  });

  it('asks for everything if it might not fit within a limit of the repo', async () => {
    await ask(range(0, 100));
    const headsWith = async (limited: string) => {
      const { settingsVersion } = await read();
      await made.ledger.setRepoLimit({ tenant, repo: limited, limitBytes: 1, settingsVersion });
      const record = await read();
      made.calls.length = 0;
      const objects = new Map([[oidOf(300), 10]]);
      await made.measure(() =>
        findStoredForUpload(made.deps, { tenant: record, repo, repoObjects: 0, objects }),
      );
      return made.calls.filter(({ name }) => name === 'HEAD').length;
    };
    expect(await headsWith('another')).toBe(0);
    expect(await headsWith(repo)).toBe(1);
  });

  it('is asked for by another process, which knows nothing', async () => {
    await ask(range(0, 100));
    put(100);
    const other = await ask(range(100, 20), { knownObjects: new KnownObjects() });
    expect(other).toEqual({ kinds: ['stored', 'upload'], lists: 1, heads: 0 });
  });
});
