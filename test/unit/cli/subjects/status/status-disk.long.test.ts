import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startEmbeddedStack } from '../../../../../local/start.ts';
import { cli } from '../../harness.ts';

it('a full disk is said by status, its exit code and /ready alike', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-status-'));
  const mebibyte = 1024 ** 2;
  let freeBytes = 0;
  const stack = await startEmbeddedStack({
    port: 0,
    dataDir: folder,
    createDemo: false,
    diskOf: () => ({ folder, freeBytes, sizeBytes: 1e12 }),
  });
  const env = { LFS_QUOTA_URL: stack.url, LFS_QUOTA_TOKEN: stack.adminToken };
  const found = [];
  for (const freeMebibytes of [100_000, 256, 0, 100_000]) {
    freeBytes = freeMebibytes * mebibyte;
    const { code, out, err } = await cli(['check', '--health'], { env });
    found.push([stack.isReady(), code, /^disk +fine /m.test(out), err.includes('disk')]);
  }
  await stack.close();
  rmSync(folder, { recursive: true });
  const [fine, full] = [
    [true, 0, true, false],
    [false, 1, false, true],
  ];
  expect(found).toEqual([fine, full, full, fine]);
});
