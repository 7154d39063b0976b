import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cacheFolder, installedVersitygw } from '../../../../bench/push/cache.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();

describe('the cache of engines and peers', () => {
  it('is where .ci/lib.sh has it, and is made', () => {
    const folder = tempFolder();
    expect(cacheFolder({ LFS_QUOTA_CACHE: join(folder, 'own'), XDG_CACHE_HOME: folder })).toBe(
      join(folder, 'own'),
    );
    expect(cacheFolder({ XDG_CACHE_HOME: folder })).toBe(join(folder, 'lfs-quota'));
    expect(existsSync(join(folder, 'lfs-quota'))).toBe(true);
  });

  it('has the newest versitygw that can be run', () => {
    const folder = tempFolder();
    expect(installedVersitygw(folder)).toBeUndefined();
    for (const name of ['versitygw-1.8.0', 'versitygw-1.10.0', 'versitygw-notes']) {
      writeFileSync(join(folder, name), '');
      chmodSync(join(folder, name), 0o755);
    }
    const file = join(folder, 'versitygw-1.10.0');
    expect(installedVersitygw(folder)).toEqual({ file, version: '1.10.0' });
    chmodSync(file, 0o644);
    expect(installedVersitygw(folder)).toBeUndefined();
  });
});
