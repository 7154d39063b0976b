import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { ClassicLevel } from 'classic-level';
import { describe, expect, it } from 'vitest';
import { openKept, queuePartitions } from '../../local/background/kept.ts';
import { reconcileCodec, sentCodec } from '../../local/background/queues.ts';
import { openDataFolder } from '../../local/data/data-folder.ts';
import { openDatabase } from '../../local/data/database.ts';
import { convert } from '../../local/data/older-folder.ts';
import { describeTraced, traceOf } from '../support/strace.ts';
import { useTempFolders } from '../support/temp-folder.ts';
import { dyingIn } from './dying-process.ts';

const tempFolder = useTempFolders();
const run = promisify(execFile);
const child = fileURLToPath(new URL('./dying-child.ts', import.meta.url));
const fixtureOf = (commit: string) => join(import.meta.dirname, '../fixtures', commit);

/** @returns a data folder as the commit left it. */
function unpack(commit: string): string {
  const folder = tempFolder();
  execFileSync('tar', ['-xzf', join(fixtureOf(commit), 'data.tar.gz'), '-C', folder]);
  return join(folder, 'data');
}

const keyOf = ({ pk, sk }: Record<string, unknown>) => `i${pk}\0${sk}`;

/** Key → item of what the commit stored. */
const itemsOf = (commit: string) =>
  new Map(
    readFileSync(join(fixtureOf(commit), 'items.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => unmarshall(JSON.parse(line)))
      .map((item) => [keyOf(item), item]),
  );

async function itemsIn(dataPath: string): Promise<Map<string, unknown>> {
  const level = new ClassicLevel(join(dataPath, 'table'));
  const entries = await level.iterator({ gte: 'i', lt: 'j' }).all();
  await level.close();
  return new Map(entries.map(([key, text]) => [key, JSON.parse(text)]));
}

/** What is wrong with a folder that was converted. */
async function expectWhole(dataPath: string, expected: ReadonlyMap<string, unknown>): Promise<void> {
  expect(await itemsIn(dataPath)).toEqual(expected);
  expect(readFileSync(join(dataPath, 'format.json'), 'utf8')).toBe('{"format":3}\n');
  const left = readdirSync(dataPath).filter((name) => ['database', 'table.unfinished'].includes(name));
  expect(left).toEqual([]);
}

describe('a data folder of before', { timeout: 240_000 }, () => {
  it.each(['2e8b484', '272d26e'])('of %s has each of its items afterwards', async (commit) => {
    const dataPath = unpack(commit);
    await (await openDataFolder(dataPath)).release();
    const items = await itemsIn(dataPath);
    const expected = itemsOf(commit);
    // The folder went on for a moment after the list was made.
    expect([...expected.keys()].filter((key) => !items.has(key))).toEqual([]);
    await expectWhole(dataPath, items);
  });

  it('killed before any step of it, it starts again, and nothing is missing', async () => {
    const whole = unpack('2e8b484');
    const dying = await dyingIn(tempFolder());
    const steps = await dying('open', whole);
    const expected = await itemsIn(whole);
    expect(steps).toBeGreaterThan(20);
    const kill = async (step: number) => {
      const dataPath = unpack('2e8b484');
      await expect(dying('open', dataPath, { beforeStep: step })).rejects.toMatchObject({
        signal: 'SIGKILL',
      });
      const isOld = !readFileSync(join(dataPath, 'format.json'), 'utf8').includes('3');
      // An older version goes on with what it has until the format forbids that.
      if (isOld) expect(existsSync(join(dataPath, 'database', 'CURRENT'))).toBe(true);
      await (await openDataFolder(dataPath)).release();
      await expectWhole(dataPath, expected);
      return isOld;
    };
    const seen = new Set<boolean>();
    for (let step = 1; step <= steps; step += 2)
      for (const isOld of await Promise.all([kill(step), ...(step < steps ? [kill(step + 1)] : [])]))
        seen.add(isOld);
    expect(seen.size).toBe(2);
  });

  describeTraced('traced', () => {
    it('is on the disk before it has its name, and its format before that', async () => {
      const dataPath = unpack('272d26e');
      const trace = join(tempFolder(), 'trace');
      const calls = ['fsync', 'fdatasync', 'rename', 'renameat', 'renameat2'];
      await run('strace', traceOf({ file: trace, calls, program: [child, 'open', dataPath, 'none'] }));
      const lines = readFileSync(trace, 'utf8').split('\n');
      const placeOf = (pattern: RegExp) => lines.findIndex((line) => pattern.test(line));
      const renamed = placeOf(/rename\w*\(.*table\.unfinished", .*table"/);
      const claimed = placeOf(/rename\w*\(.*format\.json"/);
      expect(claimed).toBeGreaterThan(0);
      expect(renamed).toBeGreaterThan(claimed);
      const synced = lines
        .slice(0, claimed)
        .flatMap((line) => /f(?:data)?sync\(\d+<(.*)>/.exec(line)?.[1]?.split('/table.unfinished')[1] ?? []);
      for (const name of readdirSync(join(dataPath, 'table'))) expect(synced).toContain(`/${name}`);
      expect(synced).toContain('');
      expect(
        lines.slice(claimed).some((line) => line.includes(`sync(`) && line.includes(`<${dataPath}>`)),
      ).toBe(true);
    });
  });

  it('has in its table what lay in the files of its queues', async () => {
    const dataPath = unpack('2e8b484');
    const deadPath = join(dataPath, 'queue', 'dead-letters');
    mkdirSync(deadPath, { recursive: true });
    const waits = { tenant: 'a/b', reason: 'verify', full: false, messageId: 'm', firstAtMs: 1, lastAtMs: 2 };
    writeFileSync(join(dataPath, 'queue', 'a%2Fb.json'), JSON.stringify({ ...waits, failures: 2 }));
    writeFileSync(join(dataPath, 'queue', 'cut.json'), '{"tenant":"cu');
    writeFileSync(join(dataPath, 'queue', 'cut.json.0.unfinished'), 'x');
    writeFileSync(join(deadPath, 'lab.json'), JSON.stringify({ ...waits, tenant: 'lab', failures: 6 }));
    const sent = { message: { tenant: 'acme', event: {} }, messageId: 'w', failures: 3 };
    writeFileSync(join(dataPath, 'webhook-queue.json'), JSON.stringify([sent, { messageId: 'none' }]));
    const folder = await openDataFolder(dataPath);
    const database = await openDatabase(folder.databasePath);
    const { reconciles, deadReconciles, webhooks } = queuePartitions;
    const reconcilesIn = (pk: string) => openKept(database, pk, reconcileCodec).load(5);
    const own = (await reconcilesIn(reconciles)).filter(({ id }) => ['a/b', 'cut'].includes(id));
    const { tenant, reason, full, ...known } = waits;
    expect(own.map(({ job }) => job)).toMatchObject([
      { message: { tenant, reason, full }, ...known, failures: 2 },
      { message: { tenant: 'cut', full: true } },
    ]);
    expect((await reconcilesIn(deadReconciles)).map(({ id }) => id)).toEqual(['lab']);
    expect(await openKept(database, webhooks, sentCodec).load(5)).toMatchObject([{ id: 'w', job: sent }]);
    await database.close();
    await folder.release();
    expect(readdirSync(dataPath).filter((name) => name.includes('queue'))).toEqual([]);
  });

  it('that another process converts is refused, and not touched, although its lock looks stale', async () => {
    const dataPath = unpack('2e8b484');
    const unfinished = join(dataPath, 'table.unfinished');
    mkdirSync(unfinished);
    writeFileSync(join(unfinished, 'theirs'), '');
    const theirs = new ClassicLevel(join(dataPath, 'database'));
    await theirs.open();
    await expect(openDataFolder(dataPath)).rejects.toThrow('is in use by another process');
    expect(readdirSync(unfinished)).toEqual(['theirs']);
    await theirs.close();
  });

  it('has the lock of its table until the new one has its name', async () => {
    const dataPath = unpack('2e8b484');
    const lockedAt: string[] = [];
    await convert(dataPath, async () => {
      const other = new ClassicLevel(join(dataPath, 'database'));
      await other.open().catch(({ cause }) => lockedAt.push(cause.code));
      expect(existsSync(join(dataPath, 'table'))).toBe(false);
    });
    expect(lockedAt).toEqual(['LEVEL_LOCKED']);
    expect(existsSync(join(dataPath, 'table'))).toBe(true);
  });

  it('that is damaged is left as it is, with what to do', async () => {
    const dataPath = unpack('2e8b484');
    const log = readdirSync(join(dataPath, 'database')).find((name) => name.startsWith('MANIFEST')) ?? '';
    rmSync(join(dataPath, 'database', log));
    const opening = openDataFolder(dataPath);
    await expect(opening).rejects.toMatchObject({
      name: 'StartupError',
      message: expect.stringContaining('Restore the data folder from a backup'),
    });
    expect(readFileSync(join(dataPath, 'format.json'), 'utf8')).not.toContain('3');
  });
});
