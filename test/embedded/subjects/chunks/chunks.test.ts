import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Sha256 } from '../../../../lambda/subjects/chunks/sha256.ts';
import { type EmbeddedStack, startEmbeddedStack } from '../../../../local/start.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();
const chunkBytes = 5 * 1024 ** 2;
/** Three chunks, the last one of 1,234 bytes. */
const content = randomBytes(2 * chunkBytes + 1234);
const oid = createHash('sha256').update(content).digest('hex');
const lfs = 'application/vnd.git-lfs+json';
const bytesOf = (chunk: number) => content.subarray(chunk * chunkBytes, (chunk + 1) * chunkBytes);

interface Action {
  readonly href: string;
  readonly header?: Record<string, string>;
}
interface Answer {
  readonly state: string;
  readonly urls: readonly (Action & { readonly chunk: number })[];
  readonly unproven: number;
}

let stack: EmbeddedStack | undefined;
afterEach(async () => {
  await stack?.close();
  stack = undefined;
});

async function started(dataDir: string): Promise<{ url: string; token: string }> {
  stack = await startEmbeddedStack({
    port: 0,
    dataDir,
    // A stop cuts what is being assembled.
    graceMs: 0,
    settings: { chunkBytes, chunkedAboveBytes: chunkBytes },
  });
  return { url: stack.url, token: stack.demo?.kind === 'created' ? stack.demo.token : '' };
}

async function call<T>(method: 'GET' | 'POST', { href, header }: Action, body?: unknown): Promise<T> {
  const headers = { accept: lfs, 'content-type': lfs, ...header };
  const response = await fetch(href, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

async function batch(
  { url, token }: { url: string; token: string },
  operation: 'upload' | 'download',
): Promise<{
  transfer: string;
  actions?: { upload?: Action; verify?: Action; download?: Action };
  error?: unknown;
}> {
  const authorization = `Basic ${Buffer.from(`any:${token}`).toString('base64')}`;
  const action = { href: `${url}/demo/game.git/info/lfs/objects/batch`, header: { authorization } };
  const objects = [{ oid, size: content.length }];
  const answer = await call<{
    transfer: string;
    objects: { actions?: { upload: Action }; error?: unknown }[];
  }>('POST', action, {
    operation,
    transfers: ['lfs-quota', 'basic'],
    objects,
  });
  return { transfer: answer.transfer, ...answer.objects[0] };
}

/** The states before each chunk. */
async function states(): Promise<string[]> {
  const hash = await Sha256.create();
  return [0, 1, 2].map((chunk) => {
    const state = hash.state();
    hash.update(bytesOf(chunk));
    return state;
  });
}

const ask = (upload: Action, stored: readonly unknown[], wanted: readonly unknown[] = []) =>
  call<Answer>('POST', upload, { stored, wanted });

async function putChunks(upload: Action, chunks: readonly number[]): Promise<void> {
  const wanted = chunks.map((chunk) => ({
    chunk,
    sha256: createHash('sha256').update(bytesOf(chunk)).digest('hex'),
  }));
  const { urls } = await ask(upload, [], wanted);
  expect(urls.map(({ chunk }) => chunk)).toEqual(chunks);
  for (const { chunk, href, header = {} } of urls) {
    const put = await fetch(href, { method: 'PUT', headers: header, body: bytesOf(chunk) });
    expect(put.status).toBe(200);
  }
}

describe('an upload in chunks', () => {
  it('is proven, assembled and downloaded, across a restart', async () => {
    const dataDir = join(tempFolder(), 'data');
    const place = await started(dataDir);
    const { transfer, actions } = await batch(place, 'upload');
    if (!actions?.upload || !actions.verify) throw new Error('No upload.');
    expect(transfer).toBe('lfs-quota');
    await putChunks(actions.upload, [0, 2]);
    const before = await states();
    await ask(actions.upload, [{ chunk: 2, stateBefore: before[2] }]);

    // Whatever was queued is lost, and the client asks again what is proven.
    await stack?.close();
    const again = { ...(await started(dataDir)), token: place.token };
    const moved = { ...actions.upload, href: actions.upload.href.replace(place.url, again.url) };
    const progress = await call<{ stored: number[][]; unproven: number[][] }>('GET', moved);
    expect(progress.stored).toEqual([
      [0, 0],
      [2, 2],
    ]);
    await putChunks(moved, [1]);
    const proofs = before.map((stateBefore, chunk) => ({ chunk, stateBefore }));
    await ask(moved, proofs);
    await stack?.close();
    const last = { ...(await started(dataDir)), token: place.token };
    const movedAgain = { ...moved, href: moved.href.replace(again.url, last.url) };
    await expect.poll(async () => (await ask(movedAgain, proofs)).state, { interval: 500 }).toBe('stored');

    const { upload: none } = (await batch(last, 'upload')).actions ?? {};
    expect(none).toBeUndefined();
    const { download } = (await batch(last, 'download')).actions ?? {};
    if (!download) throw new Error('No download.');
    const downloaded = await fetch(download.href, { headers: download.header ?? {} });
    expect(Buffer.from(await downloaded.arrayBuffer()).equals(content)).toBe(true);
    const verify = { ...actions.verify, href: actions.verify.href.replace(place.url, last.url) };
    await call('POST', verify, { oid, size: content.length });
  });

  it('ends with the token that began it, and with its reservation', async () => {
    const place = await started(join(tempFolder(), 'data'));
    const manage = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`${place.url}/v1/tenants/demo/${path}`, {
        method,
        headers: { authorization: `Bearer ${stack?.adminToken}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: (await response.json().catch(() => undefined)) as never };
    };
    const made = await manage('POST', 'tokens', { scope: 'write' });
    const { token, tokenId } = made.body as { token: string; tokenId: string };
    const begun = async (by: string) => {
      const { upload } = (await batch({ ...place, token: by }, 'upload')).actions ?? {};
      if (!upload) throw new Error('No upload.');
      await putChunks(upload, [0, 2]);
      return upload;
    };
    const [first, second] = [await begun(place.token), await begun(token)];
    expect((await manage('DELETE', `tokens/${tokenId}`)).status).toBeLessThan(300);
    for (const method of ['GET', 'POST'] as const)
      await expect(
        call(method, second, method === 'POST' ? { stored: [], wanted: [] } : undefined),
      ).rejects.toThrow(/^404 .*Upload not found/);
    expect((await ask(first, [])).state).toBe('open');
    const id = first.href.slice(-32);
    expect(await manage('DELETE', `reservations?id=${id}`)).toMatchObject({
      status: 200,
      body: { cancelledCount: 1, bytes: content.length },
    });
    expect((await ask(first, [])).state).toBe('ended');
    const more = [{ chunk: 1, sha256: 'e'.repeat(64) }];
    expect(await ask(first, [], more)).toMatchObject({ state: 'ended', urls: [] });
    // A push starts over once its chunks are removed.
    const { error } = await batch(place, 'upload');
    expect(error).toEqual({ code: 409, message: expect.stringContaining('Push again after') });
  });

  it('of other bytes stores nothing', async () => {
    const place = await started(join(tempFolder(), 'data'));
    const { upload } = (await batch(place, 'upload')).actions ?? {};
    if (!upload) throw new Error('No upload.');
    await putChunks(upload, [0, 1, 2]);
    const [first, second] = await states();
    // The third chunk, as if it came right after the first.
    await ask(upload, [
      { chunk: 0, stateBefore: first },
      { chunk: 1, stateBefore: second },
      { chunk: 2, stateBefore: second },
    ]);
    await expect.poll(async () => (await ask(upload, [])).state, { interval: 200 }).toBe('wrong');
    const { download } = (await batch(place, 'download')).actions ?? {};
    expect(download).toBeUndefined();
  });
});
