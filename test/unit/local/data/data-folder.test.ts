import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { systemIds } from '../../../../lambda/frame/aws/clock-and-ids.ts';
import {
  adminTokenOf,
  createDataFolder,
  lockFolder,
  openDataFolder,
  openStoppedTable,
  storeCredentialsOf,
} from '../../../../local/data/data-folder.ts';
import { openDatabase } from '../../../../local/data/database.ts';
import { StartupError } from '../../../../local/system/durable-file.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();

/** The message of the StartupError that the work must end with. */
async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof StartupError) return error.message;
    throw error;
  }
  throw new Error('The work was not refused.');
}

const modeOf = (...parts: string[]) => statSync(join(...parts)).mode & 0o777;

describe('a data folder', () => {
  it('is created, readable by its owner alone, and can be locked again after its release', async () => {
    const path = join(tempFolder(), 'deep', 'data');
    for (let start = 0; start < 2; start += 1) {
      const folder = await openDataFolder(path);
      expect(statSync(path).mode & 0o777).toBe(0o700);
      await folder.release();
    }
    expect(existsSync(join(path, 'lock'))).toBe(false);
  });

  it('without a table, as a server of a shared one has it, tells a backup where the table is', async () => {
    const path = tempFolder();
    const folder = await openDataFolder(path);
    expect(await refusal(openStoppedTable(path))).toContain('use lfs-quota table backup');
    mkdirSync(join(path, 'table'));
    expect(await refusal(openStoppedTable(path))).toContain('in use');
    await folder.release();
  });

  it('that exists is closed to other users, with all below it', async () => {
    const path = tempFolder();
    writeFileSync(join(path, 'format.json'), '{"format":1}');
    const files = ['table/000005.ldb', 'store/objects/ab/cdef', 'admin-token'];
    for (const file of files) {
      mkdirSync(join(path, dirname(file)), { recursive: true });
      writeFileSync(join(path, file), 'x');
      chmodSync(join(path, file), 0o644);
    }
    const folders = ['table', 'store', 'store/objects', 'store/objects/ab', '.'];
    for (const folder of folders) chmodSync(join(path, folder), 0o755);
    const folder = await openDataFolder(path);
    for (const name of folders) expect([name, modeOf(path, name)]).toEqual([name, 0o700]);
    for (const name of [...files, 'lock']) expect([name, modeOf(path, name)]).toEqual([name, 0o600]);
    await folder.release();
  });

  it('of a newer release is refused and not changed', async () => {
    const path = tempFolder();
    writeFileSync(join(path, 'format.json'), '{"format":4}');
    expect(await refusal(openDataFolder(path))).toBe(
      `The data folder ${path} was written by a newer lfs-quota (format 4; this release reads up to 3). ` +
        'Start that newer release, or choose another folder (--data).',
    );
    expect(existsSync(join(path, 'lock'))).toBe(false);
  });

  it('of an older release opens, and from then on that release refuses it', async () => {
    const path = tempFolder();
    writeFileSync(join(path, 'format.json'), '{"format":1}');
    await (await openDataFolder(path)).release();
    expect(readFileSync(join(path, 'format.json'), 'utf8')).toBe('{"format":3}\n');
  });

  it.each(['', 'nonsense', '{"format":"1"}', '[]'])('with the format %j is refused', async (text) => {
    const path = tempFolder();
    writeFileSync(join(path, 'format.json'), text);
    expect(await refusal(openDataFolder(path))).toContain('format.json is damaged');
  });

  it('with other files is refused and not changed', async () => {
    const path = tempFolder();
    writeFileSync(join(path, 'thesis.tex'), 'x');
    expect(await refusal(openDataFolder(path))).toContain('contains other files (thesis.tex)');
    expect(existsSync(join(path, 'format.json'))).toBe(false);
  });

  it('that is the root of a new volume is used, and what the file system has there is left as it is', async () => {
    const path = tempFolder();
    mkdirSync(join(path, 'lost+found'));
    chmodSync(join(path, 'lost+found'), 0o755);
    const folder = await openDataFolder(path);
    expect(modeOf(path, 'lost+found')).toBe(0o755);
    await folder.release();
  });

  it.each(['ENOENT', 'EACCES'])(
    'with what another program has below our folders is used: %s',
    async (code) => {
      const path = tempFolder();
      await (await openDataFolder(path)).release();
      const foreign = [
        join(path, 'store', 'objects', 'ab', '.cdef.Ab12Cd'),
        join(path, 'store', 'objects', '@eaDir'),
      ];
      for (const each of foreign) mkdirSync(each, { recursive: true });
      const fails = Object.assign(new Error(code), { code });
      const real = await vi.importActual<typeof import('node:fs/promises')>('node:fs/promises');
      const asked = new Set<string>();
      const failing = (ask: (path: string, options?: object) => Promise<unknown>) => {
        return (each: string, options?: object) => {
          asked.add(each);
          return foreign.includes(each) ? Promise.reject(fails) : ask(each, options);
        };
      };
      // Other tests have loaded the modules with the real one.
      vi.resetModules();
      vi.doMock('node:fs/promises', () => ({
        ...real,
        readdir: failing(real.readdir as never),
        stat: failing(real.stat as never),
      }));
      const loaded = await import('../../../../local/data/data-folder.ts');
      await (await loaded.openDataFolder(path)).release();
      expect([...asked]).toEqual(expect.arrayContaining(foreign));
      vi.doUnmock('node:fs/promises');
      vi.resetModules();
    },
  );

  it('whose creation was interrupted by a kill is used', async () => {
    const path = tempFolder();
    writeFileSync(join(path, 'lock'), '{"pid":999999999}');
    writeFileSync(join(path, 'format.json.1234.unfinished'), '');
    const folder = await openDataFolder(path);
    await folder.release();
  });

  it.each([
    ['starts', openDataFolder],
    ['is backed up', openStoppedTable],
  ])(
    'has the whole table if a kill came before that had its name, and the server %s then',
    async (_, open) => {
      const path = join(tempFolder(), 'data');
      async function* items() {
        yield [{ pk: 'TENANT#acme', sk: 'TENANT' }];
      }
      await createDataFolder(path, items());
      renameSync(join(path, 'table'), join(path, 'table.unfinished'));
      const { databasePath, release } = await open(path);
      const { client, tableName, close } = await openDatabase(databasePath);
      const key = { pk: 'TENANT#acme', sk: 'TENANT' };
      expect((await client.send('GetItem', { TableName: tableName, Key: key })).Item).toEqual(key);
      await close();
      await release();
    },
  );

  it('that cannot be created is refused with the reason', async () => {
    const file = join(tempFolder(), 'file');
    writeFileSync(file, 'x');
    expect(await refusal(openDataFolder(file))).toContain("can't be used: it's a file");
    expect(await refusal(openDataFolder(join(file, 'below')))).toContain('a part of its path is a file');
    expect(await refusal(openDataFolder(join(tempFolder(), 'x'.repeat(300))))).toContain(
      'has a name that is too long',
    );
  });
});

it.runIf(existsSync('/proc/self'))('a data folder where none can be created is refused', async () => {
  expect(await refusal(openDataFolder('/proc/x/y'))).toContain("can't be created there");
});

describe('the lock', () => {
  it('also excludes the process that holds it', async () => {
    const path = tempFolder();
    const release = await lockFolder(path, 0);
    expect(await refusal(lockFolder(path, 0))).toContain(`in use by process ${process.pid}`);
    await release();
    await (await lockFolder(path, 0))();
  });

  it('of a live process is respected, of a dead one replaced', async () => {
    const path = tempFolder();
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    writeFileSync(join(path, 'lock'), JSON.stringify({ pid: other.pid }));
    expect(await refusal(lockFolder(path, 0))).toBe(
      `The data folder ${path} is in use by process ${other.pid}. Stop that one first, or choose another folder (--data).`,
    );
    other.kill('SIGKILL');
    await once(other, 'exit');
    await (await lockFolder(path, 0))();
  });

  it('of a process that is stopping is waited for', async () => {
    const path = tempFolder();
    const release = await lockFolder(path, 0);
    setTimeout(() => void release(), 150);
    await (await lockFolder(path, 3_000))();
  });

  it('of a process whose pid was reused is stale', async () => {
    const path = tempFolder();
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    // On a system without process identities, only the pid decides.
    const isLinux = existsSync('/proc/self/stat');
    writeFileSync(join(path, 'lock'), JSON.stringify({ pid: other.pid, processIdentity: 'another boot/1' }));
    const taking = lockFolder(path, 0);
    if (isLinux) await (await taking)();
    else expect(await refusal(taking)).toContain('in use');
    other.kill('SIGKILL');
    await once(other, 'exit');
  });

  it.each(['', '{', '{"pid":"x"}', 'null'])('with the content %j is stale', async (text) => {
    const path = tempFolder();
    writeFileSync(join(path, 'lock'), text);
    const release = await lockFolder(path, 0);
    expect(JSON.parse(readFileSync(join(path, 'lock'), 'utf8'))).toMatchObject({ pid: process.pid });
    await release();
  });
});

describe('secrets', () => {
  it('are created once and kept, readable by their owner alone', async () => {
    const folder = tempFolder();
    const created = await adminTokenOf({ folder, given: undefined }, systemIds);
    expect(created).toMatchObject({
      origin: 'created',
      token: expect.stringMatching(/^lfsq_[A-Za-z0-9]{40}$/),
    });
    const kept = await adminTokenOf({ folder, given: '' }, systemIds);
    expect(kept).toEqual({ origin: 'kept', token: created.token });
    expect(statSync(join(folder, 'admin-token')).mode & 0o777).toBe(0o600);
    const credentials = await storeCredentialsOf(folder, systemIds);
    expect(await storeCredentialsOf(folder, systemIds)).toEqual(credentials);
    expect(statSync(join(folder, 'store-credentials.json')).mode & 0o777).toBe(0o600);
  });

  it('from the environment are used and not kept', async () => {
    const folder = tempFolder();
    const given = 'a-long-token-of-somebody-0123456789';
    expect(await adminTokenOf({ folder, given }, systemIds)).toEqual({ origin: 'given', token: given });
    expect(existsSync(join(folder, 'admin-token'))).toBe(false);
  });

  it.each(['short', `${'x'.repeat(40)} y`, 'ü'.repeat(40)])(
    'that are too short or no ASCII are refused: %s',
    async (given) => {
      const message = await refusal(adminTokenOf({ folder: tempFolder(), given }, systemIds));
      expect(message).toContain('LFS_QUOTA_ADMIN_TOKEN must have at least 16');
      expect(message).not.toContain(given);
    },
  );

  it('that are damaged are created again', async () => {
    const folder = tempFolder();
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'admin-token'), 'cut');
    writeFileSync(join(folder, 'store-credentials.json'), '{"accessKeyId":');
    expect(await adminTokenOf({ folder, given: undefined }, systemIds)).toMatchObject({ origin: 'created' });
    expect((await storeCredentialsOf(folder, systemIds)).secretAccessKey).toHaveLength(40);
  });
});
