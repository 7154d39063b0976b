import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { deleteRepo, markObject } from '../../../../../lambda/core/ledger/deletes.ts';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { nowOf, searchFile, signNames } from '../../../../../lambda/subjects/names/names.ts';
import {
  namedReposMax,
  namesKey,
  namesOfTenantBytesMax,
} from '../../../../../lambda/subjects/names/rules/mark.ts';
import { headLine, namesBytesMax } from '../../../../../lambda/subjects/names/rules/names-file.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';

const hour = 60 * minute;
const repo = 'app';
const path = { tenant, repo };
const oidAt = (digit: string) => digit.repeat(64);
const [kept, going, gone] = ['a', 'b', 'c'].map(oidAt) as [string, string, string];

let stack: MemoryStack;
const sign = async (more: { repo?: string; bytes?: number; sha256?: string } = {}) =>
  signNames(stack.deps, {
    tenant: await stack.record(),
    repo,
    bytes: 10,
    sha256: oidAt('1'),
    nowMs: stack.nowMs,
    ...more,
  });
const marks = () => stack.deps.names;

beforeEach(async () => {
  stack = new MemoryStack();
  stack.put({ [`${repo}/${kept}`]: 5, [`${repo}/${going}`]: 6 });
  await stack.create();
});

describe('a URL for names', () => {
  it('is of one key a repo, and the last one counts, with the largest size', async () => {
    expect(await sign({ bytes: 10, sha256: oidAt('1') })).toMatchObject({ kind: 'signed' });
    const first = await marks().find(path);
    expect(first).toEqual({
      repo,
      sinceMs: stack.nowMs,
      bytes: 10,
      sha256: oidAt('1'),
      untilMs: expect.any(Number),
    });
    // The longest PUT of it has ended by then.
    expect((first?.untilMs ?? 0) - stack.nowMs).toBeGreaterThan(stack.deps.settings.urlLifetimeMs);
    stack.nowMs += hour;
    await sign({ bytes: 4, sha256: oidAt('2') });
    expect(await marks().find(path)).toMatchObject({ bytes: 10, sha256: oidAt('2'), sinceMs: stack.nowMs });
    expect((await marks().find(path))?.untilMs).toBeGreaterThan(first?.untilMs ?? 0);
  });

  it('keeps who sees them, but not of a repo of the same name before', async () => {
    await sign();
    await marks().change(path, (found) => found && { ...found, forReaders: true });
    await sign({ sha256: oidAt('2') });
    expect(await marks().find(path)).toMatchObject({ forReaders: true, sha256: oidAt('2') });
    // As if the end of the first one had been lost.
    const record = await stack.ledger.readRepo(path);
    await marks().change(path, (found) => found && { ...found, sinceMs: 1 });
    const readRepo = async () => record && { ...record, endedClosingMs: 2 };
    const ledger = Object.assign(Object.create(stack.deps.ledger), { readRepo });
    const input = { tenant: await stack.record(), repo, bytes: 1, sha256: oidAt('3'), nowMs: stack.nowMs };
    await signNames({ ...stack.deps, ledger }, input);
    expect(await marks().find(path)).not.toHaveProperty('forReaders');
  });

  it('is of a repo that is there, and of Git LFS', async () => {
    expect(await sign({ repo: 'none' })).toEqual({ kind: 'no-repo' });
    // Pushed, and not counted yet.
    stack.put({ [`new/${kept}`]: 5 });
    expect(await sign({ repo: 'new' })).toMatchObject({ kind: 'signed' });
    await deleteRepo(stack.deps, { ...path, dryRun: false });
    expect(await sign()).toEqual({ kind: 'no-repo' });
    await stack.ledger.createRepo({ tenant, repo: 'media', kind: 'files', createdAtMs: stack.nowMs });
    expect(await sign({ repo: 'media' })).toMatchObject({ kind: 'wrong-kind', detail: expect.any(String) });
  });

  it('is refused when those of the tenant take too much, or are too many', async () => {
    const others = namesOfTenantBytesMax / namesBytesMax;
    const mark = { bytes: namesBytesMax, sha256: '', untilMs: 0, sinceMs: 1 };
    for (let index = 1; index < others; index += 1)
      await marks().put({ tenant, mark: { ...mark, repo: `r${index}` } });
    expect(await sign({ bytes: namesBytesMax })).toMatchObject({ kind: 'signed' });
    stack.put({ [`new/${kept}`]: 5 });
    expect(await sign({ repo: 'new', bytes: 1 })).toEqual({ kind: 'full' });
    // Its own are replaced.
    expect(await sign({ bytes: namesBytesMax })).toMatchObject({ kind: 'signed' });
    for (let index = 1; index < others; index += 1)
      await marks().put({ tenant, mark: { ...mark, bytes: 1, repo: `r${index}` } });
    for (let index = others; index < namedReposMax; index += 1)
      await marks().put({ tenant, mark: { ...mark, bytes: 1, repo: `r${index}` } });
    expect(await sign({ repo: 'new', bytes: 1 })).toEqual({ kind: 'full' });
    expect(await sign({ bytes: 1 })).toMatchObject({ kind: 'signed' });
  });
});

describe('the names of a page', () => {
  const named = (oid: string) => ({
    oid,
    sizeBytes: 5,
    committedMs: 1_000_000,
    commit: 'c0ffee',
    ref: 'main',
    path: 'a',
  });
  const statesOf = async () => {
    const record = await stack.ledger.readRepo(path);
    if (!record) throw new Error('There is no repo.');
    const names = await nowOf(stack.deps, { path, record, names: [kept, going, gone].map(named) });
    return names.map(({ state, dueAt }) => [state, dueAt !== undefined]);
  };

  it('are told as the objects are now', async () => {
    expect(await statesOf()).toEqual([
      ['stored', false],
      ['stored', false],
      ['gone', false],
    ]);
    await markObject(stack.deps, { ...path, oid: going, dryRun: false });
    expect(await statesOf()).toEqual([
      ['stored', false],
      ['scheduled', true],
      ['gone', false],
    ]);
    await stack.entry(await stack.deletion());
    expect(await statesOf()).toEqual([
      ['stored', false],
      ['deleting', true],
      ['gone', false],
    ]);
    stack.nowMs += 2 * hour;
    await stack.consume();
    expect(await statesOf()).toEqual([
      ['stored', false],
      ['gone', false],
      ['gone', false],
    ]);
  });

  it('say when the commit was made, if one has it', async () => {
    const record = await stack.ledger.readRepo(path);
    if (!record) throw new Error('There is no repo.');
    const none = { ...named(gone), committedMs: null, commit: null, ref: null, path: null };
    expect(await nowOf(stack.deps, { path, record, names: [named(kept), none] })).toEqual([
      {
        oid: kept,
        sizeBytes: 5,
        path: 'a',
        inUseBy: 'main',
        commit: 'c0ffee',
        committedAt: '1970-01-01T00:16:40Z',
        state: 'stored',
      },
      { oid: gone, sizeBytes: 5, path: null, inUseBy: null, commit: null, committedAt: null, state: 'gone' },
    ]);
  });

  it('say nothing of a deletion that a later opening of the repo has ended', async () => {
    await markObject(stack.deps, { ...path, oid: going, dryRun: false });
    const record = await stack.ledger.readRepo(path);
    if (!record) throw new Error('There is no repo.');
    const opened = { ...record, endedClosingMs: stack.nowMs + 1 };
    const [name] = await nowOf(stack.deps, { path, record: opened, names: [named(going)] });
    expect(name).toMatchObject({ state: 'stored' });
    expect(name).not.toHaveProperty('dueAt');
  });
});

describe('a search in a file', () => {
  const file = gzipSync(headLine({ version: 1, madeAtMs: 1 }));
  const search = { text: '', isInUse: undefined, order: 'size', after: undefined, countMax: 9 } as const;
  const asked = { path, sha256: sha256Hex(file), search };

  it('has one file at a time in memory, whatever becomes of the one before', async () => {
    let [open, most, count] = [0, 0, 0];
    const get = async () => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setTimeout(resolve, 5));
      open -= 1;
      count += 1;
      if (count === 1) throw new StoreUnavailableError('It is so.');
      return count === 2 ? Buffer.from('no gzip') : file;
    };
    const broken = { ...asked, sha256: sha256Hex(Buffer.from('no gzip')) };
    const all = [asked, broken, asked, asked].map((each) => searchFile({ archives: { get } }, each));
    const outcomes = await Promise.allSettled(all);
    expect(outcomes.map((outcome) => ('value' in outcome ? outcome.value : 'failed'))).toEqual([
      'failed',
      'unreadable',
      expect.objectContaining({ names: [], next: null }),
      expect.objectContaining({ names: [] }),
    ]);
    expect(most).toBe(1);
  });

  it('is of none that is absent, or another', async () => {
    expect(await searchFile({ archives: { get: async () => undefined } }, asked)).toBe('absent');
    const other = { ...asked, sha256: oidAt('9') };
    expect(await searchFile({ archives: { get: async () => file } }, other)).toBe('absent');
  });
});

it('names end with their repo, once no URL brings others: until then its name is taken', async () => {
  await sign();
  const key = namesKey(path);
  await stack.deps.archives.put(key, Buffer.from('names'));
  await deleteRepo(stack.deps, { ...path, dryRun: false });
  stack.nowMs += 10 * minute;
  await stack.consume();
  expect(await stack.ledger.readRepo(path)).toMatchObject({ closedAtMs: expect.any(Number) });
  // Sent late.
  await stack.deps.archives.put(key, Buffer.from('late'));
  stack.nowMs = ((await marks().find(path))?.untilMs ?? 0) + 1;
  await stack.consume();
  expect(await stack.deps.archives.get(key)).toBeUndefined();
  expect(await marks().find(path)).toBeUndefined();
  expect((await stack.ledger.readRepo(path))?.closedAtMs ?? null).toBeNull();
});
