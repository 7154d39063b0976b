import { chownSync, existsSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createDynamoDbLedger } from '../../../../lambda/core/ledger/ledger.ts';
import { allPages } from '../../../../lambda/core/rules/async.ts';
import * as stores from '../../../../lambda/lists/stores.ts';
import { openKept, queuePartitions } from '../../../../local/background/kept.ts';
import { reconcileCodec } from '../../../../local/background/queues.ts';
import { backupText, fileText, itemsIn, writeBackup } from '../../../../local/backup/backup-file.ts';
import { backupOf, restoreBackup } from '../../../../local/data/backups.ts';
import { openStoppedTable } from '../../../../local/data/data-folder.ts';
import { openDatabase } from '../../../../local/data/database.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();
const items = Array.from({ length: 25 }, (_, index) => ({
  pk: `TENANT#t${index}`,
  sk: 'TENANT',
  epoch: 1,
  text: 'ä\n€',
}));

async function textOf(all: readonly object[], partSize = 10): Promise<string> {
  const parts: string[][] = [];
  for (let at = 0; at < all.length; at += partSize)
    parts.push(all.slice(at, at + partSize).map((item) => JSON.stringify(item)));
  let text = '';
  for await (const piece of backupText('serve', Readable.from(parts))) text += piece;
  return text;
}

/** @param pieceSize of what is read at once. */
async function readAll(text: string, pieceSize = 1000): Promise<unknown[]> {
  const pieces = text.match(new RegExp(`[^]{1,${pieceSize}}`, 'g')) ?? [];
  const found: unknown[] = [];
  for await (const some of itemsIn(Readable.from(pieces))) found.push(...some);
  return found;
}

const noOutput = async () => {};

describe('a backup', () => {
  it.each([1, 7, 100, 100_000])('has its items, however it is read: %i characters at once', async (size) => {
    expect(await readAll(await textOf(items), size)).toEqual(items);
  });

  it('may have no items', async () => {
    expect(await readAll(await textOf([]))).toEqual([]);
  });

  it('is refused if it is cut anywhere', async () => {
    const text = await textOf(items.slice(0, 3));
    for (let length = 0; length < text.length - 1; length += 1)
      await expect(readAll(text.slice(0, length)), `${length}`).rejects.toThrow(
        /cut or damaged|isn't a backup/,
      );
  });

  it('is refused if an item was changed, left out or put twice', async () => {
    const lines = (await textOf(items)).split('\n');
    const changed = lines.with(3, (lines[3] as string).replace('t2', 't3'));
    await expect(readAll(changed.join('\n'))).rejects.toThrow('its checksum differs');
    await expect(readAll(lines.toSpliced(3, 1).join('\n'))).rejects.toThrow('it has 24 of 25 items');
    await expect(readAll(lines.toSpliced(3, 0, lines[3] as string).join('\n'))).rejects.toThrow('26 of 25');
  });

  it('is refused if something follows it, or a line never ends', async () => {
    const text = await textOf(items);
    await expect(readAll(`${text}${text}`)).rejects.toThrow('cut or damaged');
    await expect(readAll(`${text}${'x'.repeat(5_000_000)}`, 100_000)).rejects.toThrow('too long');
  });

  it.each([
    ['no JSON', '{"pk":"a","sk":"b"}x'],
    ['nothing', ''],
    ['no object', '7'],
    ['a list', '["pk","sk"]'],
    ['no key', '{"sk":"b"}'],
    ['half a key', '{"pk":"a"}'],
    ['an empty key', '{"pk":"","sk":"b"}'],
    ['a number as key', '{"pk":7,"sk":"b"}'],
    ['a zero byte in a key', '{"pk":"a\\u0000","sk":"b"}'],
    ['a zero byte in a key of an index', '{"pk":"a","sk":"b","gsi1pk":"c\\u0000","gsi1sk":"d"}'],
    ['a time as text', '{"pk":"a","sk":"b","duepk":"c","dueat":"7"}'],
    ['a number that is too large', '{"pk":"a","sk":"b","size":1e300}'],
    ['a tenant without a number', '{"pk":"TENANT#a","sk":"TENANT","tenant":"a","epoch":"x"}'],
    ['too many levels', `{"pk":"a","sk":"b","deep":${'['.repeat(33)}${']'.repeat(33)}}`],
    ['levels beyond any stack', `{"pk":"a","sk":"b","deep":${'['.repeat(200_000)}${']'.repeat(200_000)}}`],
  ])('is refused if it has %s for an item, and nothing is restored', async (_, line) => {
    let text = '';
    for await (const piece of backupText('serve', Readable.from([[JSON.stringify(items[0]), line]])))
      text += piece;
    const data = join(tempFolder(), 'data');
    const restored = restoreBackup(data, Readable.from([text]), { nowMs: 0, uploadsFromMs: 0 });
    await expect(restored).rejects.toThrow(
      'The backup is cut or damaged: it has an item that no table can hold. Use another backup. Nothing was restored.',
    );
    await expect(openStoppedTable(data)).rejects.toThrow("isn't a data folder");
  });

  it('may have an item with as many levels as a table holds', async () => {
    const item = { pk: 'a', sk: 'b', deep: JSON.parse(`${'['.repeat(32)}${']'.repeat(32)}`) };
    expect(await readAll(await textOf([item]))).toEqual([item]);
  });

  it('of a later format names the release that can read it', async () => {
    const text = (await textOf(items)).replace('"format":1', '"format":2');
    await expect(readAll(text)).rejects.toThrow(
      /format 2, and this release reads up to 1. Use lfs-quota \S+ or later/,
    );
  });

  it('goes to a file that only its user can read, once it is whole', async () => {
    const file = join(tempFolder(), 'table.jsonl');
    const text = await textOf(items);
    expect(await writeBackup(file, Readable.from([text]), noOutput)).toBe(25);
    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const cut = Readable.from([text.slice(0, 900)]);
    await expect(writeBackup(file, cut, noOutput)).rejects.toThrow('cut or damaged');
    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(readdirSync(join(file, '..'))).toEqual(['table.jsonl']);
  });

  it('takes the place of no link, device or folder', async () => {
    const folder = tempFolder();
    const link = join(folder, 'link');
    symlinkSync('/dev/null', link);
    for (const name of [link, folder]) {
      const written = writeBackup(name, Readable.from([await textOf(items)]), noOutput);
      await expect(written).rejects.toThrow(`${name} isn't a plain file. Name a new one, or -`);
    }
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
  });

  it("that isn't there is an error of whoever reads it, even if that is later", async () => {
    const none = join(tempFolder(), 'none');
    const text = fileText(none);
    await sleep(50);
    const restored = restoreBackup(join(tempFolder(), 'data'), text, { nowMs: 0, uploadsFromMs: 0 });
    await expect(restored).rejects.toThrow(`Can't read the backup ${none}: Error: ENOENT`);
  });

  it('goes to standard output for the name -', async () => {
    let out = '';
    const text = await textOf(items);
    await writeBackup('-', Readable.from([text]), async (piece) => {
      out += piece;
    });
    expect(out).toBe(text);
    expect(existsSync('-')).toBe(false);
  });
});

it('a backup of format 1 stays restorable', async () => {
  const data = join(tempFolder(), 'data');
  const hold = { nowMs: 1_800_000_000_000, uploadsFromMs: 1_800_000_000_000 };
  await restoreBackup(data, fileText(join(import.meta.dirname, 'format-1.jsonl')), hold);
  expect(readdirSync(data).sort()).toEqual(['format.json', 'table']);
  const database = await openDatabase(join(data, 'table'));
  try {
    const ledger = createDynamoDbLedger(database);
    expect(await ledger.readTenant('acme')).toMatchObject({
      limitBytes: 100,
      committedBytes: 60,
      epoch: 1_000_002,
      appliedEpoch: 2,
      uploadsFromMs: hold.uploadsFromMs,
    });
    const repos = await allPages(ledger.repos('acme'));
    expect(repos.map(({ repo, storedBytes, closedAtMs }) => [repo, storedBytes, closedAtMs])).toEqual([
      ['app', 10, null],
      ['old', 20, null],
    ]);
    expect(await allPages(ledger.reservations('acme'))).toHaveLength(3);
    expect(await allPages(ledger.deletions('acme'))).toEqual([]);
    expect(await stores.tokens(database).find('ae74744a03451dfe')).toMatchObject({ label: 'ada' });
    const kept = openKept(database, queuePartitions.reconciles, reconcileCodec);
    const message = { tenant: 'acme', reason: 'import', full: true };
    expect(await kept.load(0)).toMatchObject([{ job: { message } }]);
  } finally {
    await database.close();
  }
});

it.runIf(process.getuid?.() === 0)(
  'a backup that root makes of a stopped server leaves it its files',
  async () => {
    const data = join(tempFolder(), 'data');
    const hold = { nowMs: 1_800_000_000_000, uploadsFromMs: 1_800_000_000_000 };
    await restoreBackup(data, fileText(join(import.meta.dirname, 'format-1.jsonl')), hold);
    const table = join(data, 'table');
    const all = () => [table, ...readdirSync(table).map((name) => join(table, name))];
    const server = { uid: 65_534, gid: 65_533 };
    for (const path of all()) chownSync(path, server.uid, server.gid);
    for await (const _ of backupOf(data));
    for (const path of all()) expect(statSync(path), path).toMatchObject(server);
  },
);
