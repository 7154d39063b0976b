import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { versionOf } from '../../../../../cli/subjects/files/files.ts';
import type { UploadBody, UploadsBody } from '../../../../../lambda/subjects/files/contract.ts';
import { type EmbeddedStack, startEmbeddedStack } from '../../../../../local/start.ts';
import { useTempFolders } from '../../../../support/temp-folder.ts';
import { cli } from '../../harness.ts';

/** `files put` and `get` of a file that one PUT can't carry, with a server that takes 5 MiB in one. */

const tempFolder = useTempFolders();
const adminToken = 'a'.repeat(32);
const settings = { objectBytesMax: 5 * 1024 ** 2, clockSkewMs: 100 };

let stack: EmbeddedStack | undefined;
afterEach(async () => {
  await stack?.close();
  stack = undefined;
});

it('a file in parts arrives and comes back, one that broke off is continued, one that is or was another is not mixed with it', async () => {
  stack = await startEmbeddedStack({
    port: 0,
    dataDir: tempFolder(),
    createDemo: false,
    adminToken,
    settings,
  });
  const { url } = stack;
  const env = { LFS_QUOTA_URL: url, LFS_QUOTA_TOKEN: adminToken, NO_COLOR: '1' };
  const run = (...args: readonly string[]) => cli(args, { env, now: Date.now });
  const ofRepo = ['--tenant', 'acme', '--repo', 'media'];
  const files = (...args: readonly string[]) => run('files', ...args, ...ofRepo);
  expect(await run('tenant', 'create', 'acme', '--limit', '60MB')).toMatchObject({ code: 0 });
  expect(await run('repo', 'create', 'acme', 'media', '--kind', 'files')).toMatchObject({ code: 0 });
  const request = async (name: string, bytes: number, version?: string) => {
    const response = await fetch(`${url}/v1/tenants/acme/repos/media/uploads`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ files: [{ name, bytes, version }] }),
    });
    return ((await response.json()) as UploadsBody).uploads[0] as UploadBody;
  };
  const content = randomBytes(10 * 1024 ** 2 + 1234);
  const folder = tempFolder();
  const film = join(folder, 'film');
  writeFileSync(film, content);

  const own = versionOf({ path: film, changedMs: statSync(film).ctimeMs });
  const { parts: [first] = [] } = await request('film', content.length, own);
  const body = content.subarray(0, first?.bytes);
  const { status } = await fetch(first?.url ?? '', { method: 'PUT', body, headers: first?.headers ?? {} });
  expect(status).toBe(200);
  expect(await files('put', film)).toMatchObject({ code: 0, out: 'uploaded       1 file, 10 MiB\n' });
  expect(await files('get', 'film', '--output', join(folder, 'got'))).toMatchObject({ code: 0 });
  expect(readFileSync(join(folder, 'got/film')).equals(content)).toBe(true);
  // As if the answer had been lost.
  expect(await files('put', film)).toMatchObject({ code: 0, out: 'already there  1 file, 10 MiB\n' });
  writeFileSync(film, content);
  expect(await files('put', film)).toMatchObject({
    code: 5,
    err: expect.stringContaining('a file of 10 MiB is film already, not known'),
  });

  // Its first part is of what it was before. No clock of two has to tell.
  const was = versionOf({ path: join(folder, 'other'), changedMs: Date.now() + 3_600_000 });
  const { parts: [old] = [] } = await request('other', content.length, was);
  await fetch(old?.url ?? '', { method: 'PUT', body, headers: old?.headers ?? {} });
  writeFileSync(join(folder, 'other'), content);
  const changed = await files('put', join(folder, 'other'));
  expect(changed).toMatchObject({
    code: 1,
    err: expect.stringContaining('It changed after its upload started. Its upload is canceled'),
  });
  expect(await request('other', content.length)).toMatchObject({ state: 'name-taken' });

  // A file of the same name and size, elsewhere, is sent at the same time.
  const theirs = versionOf({ path: join(folder, 'elsewhere/third'), changedMs: 0 });
  const { uploadId } = await request('third', content.length, theirs);
  writeFileSync(join(folder, 'third'), content);
  expect(await files('put', join(folder, 'third'))).toMatchObject({
    code: 1,
    err: expect.stringContaining('Another file is being uploaded as third.'),
  });
  expect(await request('third', content.length, theirs)).toMatchObject({ state: 'upload', uploadId });
});
