import { beforeEach, describe, expect, it } from 'vitest';
import { requestFileDeletion } from '../../../../../lambda/core/ledger/empty-objects.ts';
import { objectKey } from '../../../../../lambda/core/rules/names.ts';
import type { TokenRecord } from '../../../../../lambda/frame/access/rules/tokens.ts';
import type { UploadBody, UploadsRequest } from '../../../../../lambda/subjects/files/contract.ts';
import { cancelUploads } from '../../../../../lambda/subjects/files/files.ts';
import { completeUpload } from '../../../../../lambda/subjects/files/parts.ts';
import { requestUploads } from '../../../../../lambda/subjects/files/uploads.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';
import { replacingDeps } from '../../../../support/memory/deps.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';

const repo = 'media';
const mib = 1024 ** 2;
const hour = 60 * minute;
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
    await cancelUploads(deps, {
      tenant,
      repo,
      uploadId: reservations[0]?.id ?? '',
      name: 'film',
      token: undefined,
    });
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
