import { beforeEach, describe, expect, it, vi } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { deleteRepo, markObject } from '../../../../../lambda/core/ledger/deletes.ts';
import { requestFileDeletion } from '../../../../../lambda/core/ledger/empty-objects.ts';
import { reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import { openDeletionsMax } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import { type Emptied, mergedEmptied, newEmptied } from '../../../../../lambda/core/ledger/rules/emptied.ts';
import { storedAgainUntilMs } from '../../../../../lambda/core/ledger/rules/reservation.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import { StoreRefusedError, StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { createRepo } from '../../../../../lambda/frame/access/repos.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const repo = 'media';
const hour = 60 * minute;

let stack: MemoryStack;

beforeEach(async () => {
  stack = new MemoryStack({ objectBytesMax: 1000 });
  await stack.create(100);
  await stack.ledger.createRepo({ tenant, repo, createdAtMs: stack.nowMs, kind: 'files' });
});

/** What an upload of files is told. */
async function asked(files: Readonly<Record<string, number>>): Promise<string> {
  const outcome = await admitUpload(stack.deps, {
    tenant: await stack.record(),
    repo,
    objects: new Map(Object.entries(files)),
    files: new Map(Object.keys(files).map((name) => [name, {}])),
  });
  if (outcome.kind !== 'answered') return outcome.kind;
  return Object.keys(files)
    .map((name) => outcome.verdicts.get(name)?.kind)
    .join(' ');
}

/** A PUT ends, as a store with the condition lets it. */
function put(name: string, bytes: number): void {
  const key = `${tenant}/${repo}/${name}`;
  if (!stack.objects.versionOf(key)) stack.objects.put(key, bytes, undefined, stack.nowMs);
}

const sizeOf = (name: string) => stack.objects.versionOf(`${tenant}/${repo}/${name}`)?.sizeBytes;
const deleting = (files: Readonly<Record<string, number>>, onlyNew?: true) =>
  requestFileDeletion(stack.deps, {
    tenant,
    repo,
    objects: new Map(Object.entries(files)),
    ...(onlyNew && { onlyNew }),
  });
const emptied = async () => allPages(stack.ledger.emptied({ tenant }));
const counted = async () => {
  await stack.consume();
  const { committedBytes, scanned } = await stack.record();
  return [committedBytes, scanned?.storedBytes, scanned?.objectCount];
};
/** When the last empty object goes. */
const emptyUntilMs = async () => Math.max(...(await emptied()).map(({ dueAtMs }) => dueAtMs)) + minute;

describe('a file', () => {
  it('that is deleted is replaced by an empty object, which neither counts nor lets anything come back', async () => {
    expect(await asked({ 'a/b': 90 })).toBe('upload');
    put('a/b', 90);
    expect(await counted()).toEqual([90, 90, 1]);
    expect(await asked({ c: 11 })).toBe('over-limit');
    expect(await deleting({ 'a/b': 90 })).toBe('requested');
    expect(await asked({ 'a/b': 1 })).toBe('retry');
    expect(await counted()).toEqual([0, 0, 0]);
    put('a/b', 90);
    expect(sizeOf('a/b')).toBe(0);
    expect(await asked({ c: 100 })).toBe('upload');
    // Its name is taken for as long.
    expect(await asked({ 'a/b': 0 })).toBe('stored');
    expect(await stack.deletions()).toEqual([]);
  });

  it('goes at once when no URL of it can be used any more', async () => {
    put('old', 50);
    const lastModifiedMs = stack.nowMs;
    stack.nowMs = storedAgainUntilMs(stack.deps.settings, { sizeBytes: 1000, lastModifiedMs });
    await deleting({ old: 50 });
    await stack.consume();
    expect([sizeOf('old'), (await emptied()).length]).toEqual([0, 1]);
    stack.objects.put(`${tenant}/${repo}/older`, 50, undefined, lastModifiedMs - 1000);
    await deleting({ older: 50 });
    await stack.consume();
    expect([sizeOf('older'), (await emptied()).length]).toEqual([undefined, 1]);
    expect(await asked({ older: 10 })).toBe('upload');
  });

  it('that came after its name was to be deleted stays', async () => {
    await asked({ late: 50 });
    await deleting({ late: 50 });
    stack.nowMs += 6000;
    put('late', 50);
    expect(await counted()).toEqual([50, 50, 1]);
    expect(sizeOf('late')).toBe(50);
  });

  it('whose upload is canceled never comes, and one that has come stays', async () => {
    expect(await asked({ never: 40, come: 50 })).toBe('upload upload');
    put('come', 50);
    await deleting({ never: 40, come: 50 }, true);
    expect(await counted()).toEqual([50, 50, 1]);
    put('never', 40);
    expect([sizeOf('never'), sizeOf('come')]).toEqual([0, 50]);
  });

  it('is not deleted while too many deletes wait', async () => {
    await stack.ledger.countDeletions({ tenant, difference: openDeletionsMax });
    expect(await deleting({ a: 1 })).toBe('full');
    expect(await stack.deletions()).toEqual([]);
  });

  it('is deleted once the store answers, and its name is nobody else’s until then', async () => {
    await asked({ a: 40 });
    put('a', 40);
    await deleting({ a: 40 });
    const { putEmpty } = stack.deps.store;
    stack.deps.store.putEmpty = () => Promise.reject(new StoreUnavailableError('503'));
    await stack.consume();
    expect([sizeOf('a'), (await stack.deletion()).state]).toEqual([40, 'deleting']);
    expect(await asked({ a: 1 })).toBe('retry');
    stack.deps.store.putEmpty = putEmpty;
    stack.nowMs += 2 * minute;
    expect(await counted()).toEqual([0, 0, 0]);
  });
});

describe('an upload that breaks off', () => {
  it('counts until its name is taken, and then its PUT stores nothing, however late it ends', async () => {
    expect(await asked({ broken: 60 })).toBe('upload');
    stack.nowMs += 40 * minute;
    const { putEmpty } = stack.deps.store;
    stack.deps.store.putEmpty = () => Promise.reject(new StoreUnavailableError('503'));
    expect(await counted()).toEqual([60, 0, 0]);
    stack.deps.store.putEmpty = putEmpty;
    expect(await counted()).toEqual([0, 0, 0]);
    stack.nowMs += 20 * hour;
    put('broken', 60);
    expect(sizeOf('broken')).toBe(0);
    expect(stack.reservations).toEqual([]);
  });

  it('that no store takes counts for a day, and keeps nobody else from what is free', async () => {
    expect(await asked({ 'a/b': 30, broken: 40 })).toBe('upload upload');
    stack.nowMs += 40 * minute;
    const { putEmpty } = stack.deps.store;
    stack.deps.store.putEmpty = async (key, options) => {
      if (key.endsWith('/a/b')) throw new StoreRefusedError('a is no folder');
      return putEmpty(key, options);
    };
    expect(await counted()).toEqual([30, 0, 0]);
    stack.nowMs += 25 * hour;
    expect(await counted()).toEqual([0, 0, 0]);
    expect(stack.reservations).toEqual([]);
  });

  it('is counted if it has arrived meanwhile, and if it has no bytes', async () => {
    expect(await asked({ slow: 60, none: 0 })).toBe('upload upload');
    stack.nowMs += 40 * minute;
    const { putEmpty } = stack.deps.store;
    stack.deps.store.putEmpty = (key, options) => {
      put('slow', 60);
      return putEmpty(key, options);
    };
    expect(await counted()).toEqual([60, 60, 1]);
    expect(sizeOf('none')).toBeUndefined();
    put('none', 0);
    stack.nowMs += hour;
    expect(await counted()).toEqual([60, 60, 2]);
  });
});

describe('an empty object', () => {
  it('goes when no PUT of its name can be under way, with its record', async () => {
    await asked({ a: 40 });
    put('a', 40);
    await deleting({ a: 40 });
    await stack.consume();
    const untilMs = await emptyUntilMs();
    stack.nowMs = untilMs - 5 * minute;
    await stack.consume();
    expect(sizeOf('a')).toBe(0);
    stack.nowMs = untilMs;
    expect(await counted()).toEqual([0, 0, 0]);
    expect([sizeOf('a'), await emptied(), await stack.deletions()]).toEqual([undefined, [], []]);
    expect(await asked({ a: 10 })).toBe('upload');
  });

  it('stays if a later record is about it, and so does a file that took its name', async () => {
    await asked({ a: 40, b: 40 });
    for (const name of ['a', 'b']) put(name, 40);
    await deleting({ a: 40, b: 40 });
    await stack.consume();
    await stack.objects.putEmpty(`${tenant}/${repo}/a`, { mark: String(1e15), onlyNew: false });
    await stack.objects.delete([`${tenant}/${repo}/b`]);
    put('b', 7);
    stack.nowMs = await emptyUntilMs();
    await stack.consume();
    expect([sizeOf('a'), sizeOf('b'), await emptied()]).toEqual([0, 7, []]);
  });

  it('keeps the name of its repo until no PUT can be under way, and is listed no more than it must', async () => {
    await asked({ a: 40, never: 50 });
    put('a', 40);
    await stack.ledger.closeRepo({ tenant, repo, closedAtMs: stack.nowMs });
    // What URLs may still bring counts until they are over.
    expect(await counted()).toEqual([50, 0, 0]);
    put('a', 40);
    expect(sizeOf('a')).toBe(0);
    stack.nowMs += 40 * minute;
    expect(await counted()).toEqual([0, 0, 0]);
    put('never', 50);
    expect(sizeOf('never')).toBe(0);
    stack.nowMs += 2 * minute;
    await stack.consume();
    const untilMs = await emptyUntilMs();
    expect(await stack.repo(repo)).toMatchObject({ emptyFromMs: untilMs - minute });
    const { listPage } = stack.objects;
    let lists = 0;
    stack.objects.listPage = (request) => {
      lists += 1;
      return listPage.call(stack.objects, request);
    };
    await stack.consume();
    expect(lists).toBe(0);
    stack.nowMs = untilMs;
    for (let run = 0; run < 2; run += 1) await stack.consume();
    expect([stack.objects.objectCount, await emptied()]).toEqual([0, []]);
    expect(await stack.repo(repo)).toMatchObject({ closedAtMs: null });
    expect((await stack.repo(repo))?.kind).toBeUndefined();
    expect((await stack.repo(repo))?.emptyFromMs).toBeUndefined();
  });
});

describe('records of empty objects', () => {
  it('are no more for each try that the store did not answer', async () => {
    await asked(Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, 1])));
    stack.nowMs += 40 * minute;
    stack.deps.store.putEmpty = () => Promise.reject(new StoreUnavailableError('503'));
    for (let run = 0; run < 20; run += 1) {
      await stack.consume();
      stack.nowMs += minute;
    }
    expect((await emptied()).length).toBeLessThanOrEqual(2);
  });

  it('become few, and nothing is shown or lost by that', async () => {
    stack = new MemoryStack();
    await stack.create(null);
    await stack.ledger.createRepo({ tenant, repo, createdAtMs: stack.nowMs, kind: 'files' });
    const names = Array.from({ length: 60 }, (_, index) => `f${index}`);
    await asked(Object.fromEntries(names.map((name) => [name, 1])));
    for (const name of names) put(name, 1);
    for (const name of names) await deleting({ [name]: 1 });
    expect(await counted()).toEqual([0, 0, 0]);
    await stack.consume();
    expect(await emptied()).toMatchObject([{ names: expect.arrayContaining(names) }]);
    expect(await counted()).toEqual([0, 0, 0]);
    stack.nowMs = await emptyUntilMs();
    await stack.consume();
    expect([stack.objects.objectCount, await emptied()]).toEqual([0, []]);
  });

  it('are not removed any further once the store does not answer', async () => {
    for (let index = 0; index < 5; index += 1) {
      await asked({ [`f${index}`]: 1 });
      stack.nowMs += 40 * minute;
      await stack.consume();
    }
    stack.nowMs = await emptyUntilMs();
    stack.beforeDelete = () => {
      throw new StoreUnavailableError('503');
    };
    await stack.consume();
    expect(await stack.deletions()).toHaveLength(1);
  });

  it('stay where a store refuses to remove one for a week, and the others go', async () => {
    for (const name of ['a', 'b']) {
      await asked({ [name]: 1 });
      stack.nowMs += 2 * hour;
      await stack.consume();
    }
    stack.nowMs = await emptyUntilMs();
    stack.beforeDelete = (key) => {
      if (key.endsWith('/a')) throw new StoreRefusedError('AccessDenied');
    };
    for (let days = 0; days < 20; days += 1) {
      stack.nowMs += 12 * hour;
      await stack.consume().catch(() => undefined);
    }
    expect([sizeOf('a'), sizeOf('b'), await emptied(), await stack.deletions()]).toEqual([
      0,
      undefined,
      [],
      [],
    ]);
  });
});

describe('a wish to delete', () => {
  it('is asked of the queue, so that somebody counts, also if too many wait', async () => {
    await stack.ledger.countDeletions({ tenant, difference: openDeletionsMax });
    stack.requests.length = 0;
    expect(await deleting({ a: 1 })).toBe('full');
    expect(stack.requests).toHaveLength(1);
    await stack.consume();
    expect(await deleting({ a: 1 })).toBe('requested');
  });

  it('holds also where the store does not say when a file was put', async () => {
    stack.put({ [`${repo}/a`]: 10 });
    stack.nowMs += 72 * hour;
    await deleting({ a: 10 });
    stack.nowMs += 10_000;
    await stack.consume();
    expect([sizeOf('a'), await stack.deletions()]).toEqual([0, []]);
  });

  it('cancels uploads while an export holds the repo, and deletes no file', async () => {
    await asked({ a: 90, b: 5 });
    put('b', 5);
    await stack.consume();
    stack.holdFor(24 * hour);
    await deleting({ a: 90 }, true);
    await deleting({ b: 5 });
    expect(await counted()).toEqual([5, 5, 1]);
  });

  it('is read by a batch of other names as little as if it were none', async () => {
    await deleting(Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, 1])));
    expect(await stack.ledger.deletionsNaming({ tenant, repo, oids: ['new'] })).toEqual([]);
    expect(await stack.ledger.deletionsNaming({ tenant, repo, oids: ['f7'] })).toHaveLength(1);
  });
});

describe('somebody', () => {
  it('whose deletes of objects wait keeps nobody from canceling uploads, or deleting many files', async () => {
    for (let index = 0; index < 101; index += 1) {
      await stack.upload('app', { [oidOf(index)]: 0 });
      await markObject(stack.deps, { tenant, repo: 'app', oid: oidOf(index), dryRun: false });
    }
    await asked({ broken: 90 });
    expect(await deleting({ broken: 90 }, true)).toBe('requested');
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`${index}`, 0]));
    expect(await deleting(many)).toBe('requested');
  });

  it('who has very many empty objects leaves others room, and claims what breaks off', async () => {
    await asked({ broken: 40 });
    const dueAtMs = stack.nowMs + 20 * hour;
    const names = (record: number) => Array.from({ length: 1000 }, (_, index) => `${record}/${index}`);
    for (let record = 0; record < 501; record += 1)
      await stack.ledger.putEmptied({
        tenant,
        repo,
        dueAtMs,
        id: `${dueAtMs}-${record}`,
        names: names(record),
      });
    expect(await counted()).toEqual([40, 0, 0]);
    expect(await deleting({ broken: 40 }, true)).toBe('full');
    stack.nowMs += 40 * minute;
    expect(await counted()).toEqual([40, 0, 0]);
    expect(await asked({ other: 60 })).toBe('upload');
    stack.nowMs += 30 * hour;
    expect(await counted()).toEqual([0, 0, 0]);
  });

  it.each(['new', 'found'])(
    'who pushes to a repo that is %s while it becomes one of files gets no URL',
    async (how) => {
      for (const before of ['putReservation', 'issueReservation'] as const) {
        const name = `${how}-${before}`.toLowerCase();
        if (how === 'found') stack.put({ [`${name}/photo.jpg`]: 1 });
        await reconcile(stack.deps, { tenant, full: true });
        let made: string | undefined;
        stack.beforeNext(before, async () => {
          const [record, beganMs] = [await stack.record(), stack.nowMs];
          made = (await createRepo(stack.deps, { tenant: record, beganMs, repo: name, kind: 'files' })).kind;
        });
        const verdicts = await stack.push(name, { [oidOf(7)]: 9 });
        const isUpload = typeof verdicts !== 'string' && verdicts.get(oidOf(7))?.kind === 'upload';
        const kind = (await stack.repo(name))?.kind;
        expect([made, isUpload, kind]).toEqual(
          before === 'putReservation' ? ['created', false, 'files'] : ['exists', true, undefined],
        );
      }
    },
  );

  it('who has many repos of files costs a reconcile no query for each', async () => {
    for (let index = 0; index < 50; index += 1)
      await stack.ledger.createRepo({ tenant, repo: `r${index}`, createdAtMs: stack.nowMs, kind: 'files' });
    const queries = vi.spyOn(stack.ledger, 'emptied');
    await stack.consume();
    expect(queries.mock.calls.length).toBeLessThan(5);
  });
});

describe('empty objects whose records were lost', () => {
  let untilMs: number;

  beforeEach(async () => {
    await asked({ a: 50 });
    put('a', 50);
    await stack.consume();
    await deleting({ a: 50 });
    await stack.consume();
    untilMs = await emptyUntilMs();
    for (const { id } of await emptied()) await stack.ledger.removeEmptied({ tenant, repo, id });
  });

  it('are deleted as files are, once no PUT of their names can be under way', async () => {
    await deleting({ a: 0 });
    await stack.consume();
    expect([sizeOf('a'), await stack.deletions()]).toEqual([0, []]);
    stack.nowMs = untilMs;
    await deleting({ a: 0 });
    expect(await counted()).toEqual([0, 0, 0]);
    expect([sizeOf('a'), await stack.deletions()]).toEqual([undefined, []]);
    expect(await asked({ a: 100 })).toBe('upload');
  });

  it('keep no repo from being deleted', async () => {
    await deleteRepo(stack.deps, { tenant, repo, dryRun: false });
    await stack.pass(4 * 24 * hour);
    expect([sizeOf('a'), (await stack.repo(repo))?.closedAtMs ?? null]).toEqual([undefined, null]);
  });
});

it('a name stays taken for little more than a day, however often others of its repo are deleted', () => {
  let records: Emptied[] = [];
  const [bornMs, goneMs] = [new Map<string, number>(), new Map<string, number>()];
  let nowMs = 1e12;
  for (let index = 0; index < 2000; index += 1) {
    nowMs += hour / 20;
    const name = `${index}`;
    bornMs.set(name, nowMs);
    records.push(newEmptied(defaultSettings, { repo, names: [name], byMs: nowMs }));
    for (const { names } of records.filter(({ dueAtMs }) => nowMs > dueAtMs))
      for (const each of names) goneMs.set(each, nowMs);
    records = records.filter(({ dueAtMs }) => nowMs <= dueAtMs);
    const { merged, replaced } = mergedEmptied(records);
    records = [...records.filter((each) => !replaced.includes(each)), ...merged];
  }
  const ages = [...goneMs].map(([name, atMs]) => (atMs - (bornMs.get(name) ?? 0)) / hour);
  expect(ages.length).toBeGreaterThan(1000);
  expect(Math.max(...ages)).toBeLessThan(28);
});
