import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { LyingStore } from '../../support/lying-store.ts';
import { credentials } from '../../support/store-fixture.ts';
import { deployedWith } from './deployed-with.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

async function composed() {
  const { refreshDeps } = await import('../../../lambda/functions/refresh.ts');
  return refreshDeps().usageFiles;
}

it('the schedule knows no store, unless the stage writes files of usage', async () => {
  deployedWith({ LFS_QUOTA_BUCKET: undefined });
  expect(await composed()).toBeUndefined();
});

it('puts, lists and removes them in the store of the stage', async () => {
  const store = await LyingStore.start();
  onTestFinished(() => store.stop());
  deployedWith({
    LFS_QUOTA_S3_ENDPOINT: store.url,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  });
  const files = await composed();
  const key = '_usage/2026/11/28/07.jsonl';
  const listed = async () => (await files?.listing.listPage({ prefix: '_usage/' }))?.totalBytes;
  // An hour without tenants has a file without bytes.
  for (const text of ['', '{"id":"ü"}\n', '{"id":"ü"}\n']) {
    await files?.archives.put(key, Buffer.from(text));
    expect(await listed()).toBe(Buffer.byteLength(text));
  }
  expect(await files?.store.delete([key], { deadlineMs: Date.now() + 10_000 })).toEqual(new Map());
  expect((await files?.listing.listPage({ prefix: '' }))?.keyCount).toBe(0);
});
