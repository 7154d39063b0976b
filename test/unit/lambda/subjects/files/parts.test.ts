import { beforeEach, describe, expect, it } from 'vitest';
import { requestFileDeletion } from '../../../../../lambda/core/ledger/empty-objects.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { objectKey } from '../../../../../lambda/core/rules/names.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import type { TokenRecord } from '../../../../../lambda/frame/access/rules/tokens.ts';
import type { UploadBody, UploadsRequest } from '../../../../../lambda/subjects/files/contract.ts';
import { cancelUploads } from '../../../../../lambda/subjects/files/files.ts';
import { completeUpload } from '../../../../../lambda/subjects/files/parts.ts';
import { filePartBeat } from '../../../../../lambda/subjects/files/seams.ts';
import { requestUploads } from '../../../../../lambda/subjects/files/uploads.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';
import { replacingDeps } from '../../../../support/memory/deps.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

const repo = 'media';
const mib = 1024 ** 2;
const hour = 60 * minute;
const day = 24 * hour;
/** Three parts, the last one of 7 bytes. */
const bytes = 10 * mib + 7;
const lifetimeMs = 5 * minute;

let stack: MemoryStack;
let archives: MemoryArchiveStore;
let deps: Deps;

beforeEach(async () => {
  stack = new MemoryStack({ objectBytesMax: 5 * mib });
  archives = new MemoryArchiveStore({ objects: stack.objects });
  Object.assign(stack.deps, replacingDeps(stack.deps, { archives }));
  deps = stack.deps;
  await stack.create(20 * mib);
  await stack.ledger.createRepo({ tenant, repo, createdAtMs: stack.nowMs, kind: 'files' });
});

async function request(
  files: UploadsRequest['files'],
  { key, token }: { key?: string; token?: TokenRecord } = {},
): Promise<readonly UploadBody[]> {
  const record = await stack.repo(repo);
  if (!record) throw new Error('There is no repo.');
  const asked = { tenant: await stack.record(), record, token, files, lifetimeMs };
  const outcome = await requestUploads(deps, asked, key);
  if (outcome.kind !== 'answered') throw new Error(outcome.kind);
  return outcome.body.uploads;
}

async function one(name = 'film', more: Parameters<typeof request>[1] = {}, size = bytes) {
  const [upload] = await request([{ name, bytes: size }], more);
  if (!upload) throw new Error('There is no answer.');
  return upload;
}

const path = ({ name, uploadId = '' }: UploadBody) => ({ tenant, repo, name, upload: uploadId });
const complete = (upload: UploadBody) => completeUpload(deps, path(upload));
const cancel = ({ name, uploadId = '' }: Pick<UploadBody, 'name' | 'uploadId'>) =>
  cancelUploads(deps, { tenant, repo, uploadId, name, token: undefined });

/** As a client does that has the URLs. */
async function send(upload: UploadBody, numbers: readonly number[]): Promise<void> {
  const found = await deps.partUploads.read(path(upload));
  const key = objectKey({ tenant, repo, oid: upload.name });
  for (const part of upload.parts ?? [])
    if (numbers.includes(part.number))
      await archives.uploadPart(
        { key, uploadId: found?.multipartId ?? '' },
        { number: part.number, bytes: new Uint8Array(part.bytes) },
      );
}

const stored = (name = 'film') => stack.objects.versionOf(`${tenant}/${repo}/${name}`)?.sizeBytes;
const counted = async () => {
  await stack.consume();
  const { committedBytes, scanned } = await stack.record();
  return [committedBytes, scanned?.storedBytes];
};
const shown = ({ parts = [] }: UploadBody) => parts.map((part) => part.stored ?? typeof part.url);

describe('a file above what one PUT can carry', () => {
  it('takes space of a disk twice, as parts and as the file, until it has ended', async () => {
    const calls: unknown[] = [];
    Object.assign(deps.store, {
      takeSpace: (uploads: readonly object[]) => {
        calls.push(...uploads);
        return { lacking: [], freeBytes: 0 };
      },
      leaveSpace: (key: string) => calls.push(key),
    });
    const key = objectKey({ tenant, repo, oid: 'film' });
    const upload = await one();
    expect(calls.splice(0)).toEqual([{ oid: 'film', key, diskBytes: 2 * bytes }]);
    await cancel(upload);
    expect(calls).toEqual([key]);
  });

  it('that took days is deleted as one that has just arrived: a store may date it when it was begun', async () => {
    const begunMs = stack.nowMs;
    let upload = await one();
    for (let hours = 0; hours < 80; hours += 20) {
      upload = await one();
      stack.nowMs += 20 * hour;
    }
    expect((await one('film', {}, 100)).state).toBe('upload');
    await send(upload, [1, 2, 3]);
    expect(await complete(upload)).toBe('done');
    const key = objectKey({ tenant, repo, oid: 'film' });
    stack.objects.put(key, bytes, undefined, begunMs);
    await stack.consume();
    stack.nowMs += 2 * hour;
    expect(await counted()).toEqual([bytes, bytes]);
    await requestFileDeletion(deps, { tenant, repo, objects: new Map([['film', bytes]]) });
    expect(await counted()).toEqual([0, 0]);
    // A slow PUT of the URL above comes to nothing.
    expect(stack.objects.versionOf(key)?.sizeBytes).toBe(0);
  });

  it('is not made of a part that comes again while it is made', async () => {
    const upload = await one('film');
    await send(upload, [1, 2, 3]);
    archives.before = async ({ name }) => {
      if (name !== 'complete') return;
      archives.before = () => undefined;
      const found = await deps.partUploads.read(path(upload));
      const multipart = { key: objectKey({ tenant, repo, oid: 'film' }), uploadId: found?.multipartId ?? '' };
      const part = { number: 2, bytes: new Uint8Array(upload.parts?.[1]?.bytes ?? 0).fill(1) };
      await archives.uploadPart(multipart, part);
    };
    expect(await complete(upload)).toEqual([2]);
    expect([await complete(upload), stored()]).toEqual(['done', bytes]);
  });

  it.each(['film', 'constructor'])(
    'is stored once all of its parts are, and counts in full from the start: %s',
    async (name) => {
      const upload = await one(name);
      expect(upload).toMatchObject({
        state: 'upload',
        parts: [{ number: 1, bytes: 5 * mib }, {}, { number: 3, bytes: 7 }],
      });
      expect(await counted()).toEqual([bytes, 0]);
      expect(await one('other')).toMatchObject({ state: 'over-limit' });
      expect(await complete(upload)).toEqual([1, 2, 3]);
      await send(upload, [1, 3]);
      expect(await complete(upload)).toEqual([2]);
      await send(upload, [2]);
      expect([await complete(upload), await complete(upload), stored(name)]).toEqual(['done', 'done', bytes]);
      stack.nowMs += hour;
      expect(await counted()).toEqual([bytes, bytes]);
      await filePartBeat.beat(deps);
      stack.nowMs += day;
      expect(await counted()).toEqual([bytes, bytes]);
      expect(await deps.partUploads.of({ tenant })).toEqual([]);
      expect(stack.reservations).toEqual([]);
    },
  );

  it('is continued by who asks again, also with the same key, and by nobody else', async () => {
    const token = tokenRecord('a', { tenant });
    const upload = await one('film', { key: 'k', token });
    expect(shown(upload)).toEqual(['string', 'string', 'string']);
    await send(upload, [2]);
    const again = await one('film', { key: 'k', token });
    expect([again.uploadId, shown(again)]).toEqual([upload.uploadId, ['string', true, 'string']]);
    expect(await one('film', { token })).toEqual(again);
    expect(await one('film', { token: tokenRecord('b', { tenant }) })).toMatchObject({ state: 'name-taken' });
    expect(await one('film', { token }, bytes + 1)).toMatchObject({ state: 'name-taken' });
    expect(await counted()).toEqual([bytes, 0]);
    await send(again, [1, 3]);
    expect(await complete(again)).toBe('done');
    expect(await one('film', { key: 'k', token })).toMatchObject({ state: 'name-taken', storedBytes: bytes });
  });

  it('is stored for who has sent this version of it, for some hours, and for nobody else', async () => {
    const token = tokenRecord('a', { tenant });
    const ask = async (version: string | undefined, who = token, size = bytes) =>
      (await request([{ name: 'film', bytes: size, version }], { token: who }))[0] as UploadBody;
    const upload = await ask('1');
    await send(upload, [1, 2, 3]);
    expect(await ask('2')).toMatchObject({ uploadId: upload.uploadId, version: '1' });
    expect(await complete(upload)).toBe('done');
    expect(await ask('1')).toEqual({ name: 'film', state: 'stored' });
    for (const other of [
      await ask('2'),
      await ask(undefined),
      await ask('1', tokenRecord('b', { tenant })),
      await ask('1', token, bytes + 1),
    ])
      expect(other.state).toBe('name-taken');
    stack.nowMs += day;
    await stack.consume();
    expect((await ask('1')).state).toBe('name-taken');
  });

  it('frees its space at once if it is canceled, and its parts come to nothing', async () => {
    const upload = await one();
    await send(upload, [1, 2]);
    expect(await cancel(upload)).toEqual({ fileCount: 1, bytes });
    expect(await counted()).toEqual([0, 0]);
    expect(archives.openUploads).toEqual([]);
    await expect(send(upload, [3])).rejects.toThrow();
    expect([await complete(upload), stored()]).toEqual(['done', undefined]);
    expect(await cancel(upload)).toBeUndefined();
    expect(await one()).toMatchObject({ state: 'name-taken' });
    stack.nowMs += hour;
    await stack.consume();
    expect(await one()).toMatchObject({ state: 'upload' });
  });

  it('is given up after a day without a request, which the schedule sees', async () => {
    await send(await one(), [1]);
    stack.nowMs += day - minute;
    expect(await counted()).toEqual([bytes, 0]);
    expect(await filePartBeat.beat(deps)).toBe(0);
    await one();
    stack.nowMs += day + minute;
    expect(await filePartBeat.beat(deps)).toBe(1);
    expect(stack.requests.at(-1)).toEqual({ tenant, reason: 'upload', full: false });
    expect(await counted()).toEqual([0, 0]);
    expect([archives.openUploads, await deps.partUploads.of({ tenant })]).toEqual([[], []]);
  });

  it('is stored by a repetition, whatever becomes of an answer', async () => {
    const upload = await one();
    await send(upload, [1, 2, 3]);
    archives.after = ({ name }) => {
      if (name === 'complete') throw new StoreUnavailableError('no answer');
    };
    await expect(complete(upload)).rejects.toThrow('no answer');
    archives.after = () => undefined;
    expect([await complete(upload), stored()]).toEqual(['done', bytes]);
    stack.nowMs += hour;
    expect(await counted()).toEqual([bytes, bytes]);
  });

  it('replaces nothing', async () => {
    const upload = await one();
    await send(upload, [1, 2, 3]);
    stack.objects.put(`${tenant}/${repo}/film`, bytes, undefined, stack.nowMs);
    expect([await complete(upload), archives.openUploads]).toEqual(['taken', []]);
    stack.nowMs += hour;
    expect(await counted()).toEqual([bytes, bytes]);
  });

  it('that is canceled while it is made is there or not, and counts as it is', async () => {
    const upload = await one();
    await send(upload, [1, 2, 3]);
    let canceled: unknown;
    archives.before = async ({ name }) => {
      if (name === 'complete') canceled = await cancel(upload);
    };
    expect(await complete(upload)).toBe('done');
    expect([canceled, stored()]).toEqual([{ fileCount: 1, bytes }, undefined]);
    expect(await counted()).toEqual([0, 0]);
    // What still came would replace nothing.
    expect(stored()).toBe(0);
  });

  it('ends with its repo, as with a claim that the operator cancels', async () => {
    const upload = await one();
    const [reservation] = stack.reservations;
    if (!reservation) throw new Error('There is no reservation.');
    expect(await deps.claims.end({ tenant, reservation, states: 'open' })).toEqual(['film']);
    expect(await complete(upload)).toBe('done');
    expect(await counted()).toEqual([0, 0]);
    expect(archives.openUploads).toEqual([]);
  });

  it('is no hindrance if its batch died before it answered', async () => {
    stack.beforeNext('issueReservation', () => {
      throw new Error('died');
    });
    await expect(one()).rejects.toThrow('died');
    await expect(one()).rejects.toThrow('retry');
    stack.nowMs += 2 * minute;
    await stack.consume();
    expect(await one()).toMatchObject({ state: 'upload' });
    expect(archives.openUploads).toHaveLength(1);
  });
});

/** The name is taken by one PUT, counted, and the space that is free then is used by others. */
async function takenByOnePut(): Promise<UploadBody> {
  const upload = await one();
  await send(upload, [1, 2, 3]);
  expect((await one('film', {}, 100)).state).toBe('upload');
  stack.objects.put(objectKey({ tenant, repo, oid: 'film' }), 100, undefined, stack.nowMs);
  await counted();
  const others = ['a', 'b', 'c', 'd'].map((name) => ({ name, bytes: 4 * mib }));
  const told = await request(others);
  for (const { name, state } of told)
    if (state === 'upload')
      stack.objects.put(objectKey({ tenant, repo, oid: name }), 4 * mib, undefined, stack.nowMs);
  await counted();
  return upload;
}
const total = () =>
  stack.objects
    .keysBelow(`${tenant}/`)
    .reduce((sum, key) => sum + (stack.objects.versionOf(key)?.sizeBytes ?? 0), 0);

describe('an upload in parts whose name was taken by one PUT', () => {
  it('stores nothing beyond the limit once that file was deleted, and its empty object is gone', async () => {
    const upload = await takenByOnePut();
    await requestFileDeletion(deps, { tenant, repo, objects: new Map([['film', 100]]) });
    await counted();
    expect(stored()).toBe(0);
    // Its maker asks again and again.
    stack.nowMs += 20 * hour;
    await one();
    await counted();
    for (let hours = 20; hours < 36; hours += 1) {
      stack.nowMs += hour;
      await counted();
    }
    expect(stored()).toBeUndefined();
    await complete(upload);
    await counted();
    expect((await stack.record()).committedBytes).toBe(total());
    expect(total()).toBeLessThanOrEqual(20 * mib);
  });

  it('stores nothing beyond the limit once that file was deleted at once, as it is old', async () => {
    const upload = await takenByOnePut();
    for (let hours = 0; hours < 60; hours += 20) {
      stack.nowMs += 20 * hour;
      await one();
      await counted();
    }
    await requestFileDeletion(deps, { tenant, repo, objects: new Map([['film', 100]]) });
    await counted();
    await complete(upload);
    await counted();
    expect((await stack.record()).committedBytes).toBe(total());
    expect(total()).toBeLessThanOrEqual(20 * mib);
  });

  it('stores nothing beyond the limit once the upload by one PUT was canceled', async () => {
    const upload = await one();
    await send(upload, [1, 2, 3]);
    const [small] = await request([{ name: 'film', bytes: 100 }]);
    const reservations = stack.reservations.filter(({ chunked }) => chunked === undefined);
    await cancel({ name: 'film', uploadId: reservations[0]?.id ?? '' });
    expect(small?.state).toBe('upload');
    await counted();
    expect(stored()).toBe(0);
    const told = await request(['a', 'b', 'c', 'd'].map((name) => ({ name, bytes: 4 * mib })));
    for (const { name, state } of told)
      if (state === 'upload')
        stack.objects.put(objectKey({ tenant, repo, oid: name }), 4 * mib, undefined, stack.nowMs);
    stack.nowMs += 20 * hour;
    await one();
    for (let hours = 20; hours < 36; hours += 1) {
      stack.nowMs += hour;
      await counted();
    }
    await complete(upload);
    await counted();
    expect((await stack.record()).committedBytes).toBe(total());
    expect(total()).toBeLessThanOrEqual(20 * mib);
  });
});

it('what relies on a canceled claim is counted, whichever reservations a reconcile read first', async () => {
  stack.objects.put(objectKey({ tenant, repo, oid: 'old' }), 8 * mib, undefined, stack.nowMs);
  await stack.consume({ full: true });
  const upload = await one();
  await counted();
  const { ledger } = stack;
  const reservations = ledger.reservations.bind(ledger);
  const all = async () => allPages(reservations(tenant));
  let small: UploadBody | undefined;
  // Ids are random. That of the second one is read first, before it is written.
  ledger.reservations = async function* () {
    ledger.reservations = reservations;
    yield (await all()).filter(({ id }) => id !== upload.uploadId);
    small = await one('film', {}, 4 * mib).catch(() => undefined);
    await cancel(upload);
    yield (await all()).filter(({ id }) => id === upload.uploadId);
  };
  await counted();
  const told = await request(['a', 'b', 'c'].map((name) => ({ name, bytes: 4 * mib })));
  const admitted = told.filter(({ state }) => state === 'upload').length;
  expect(8 * mib + (small?.state === 'upload' ? 4 : 0) * mib + admitted * 4 * mib).toBeLessThanOrEqual(
    20 * mib,
  );
});
