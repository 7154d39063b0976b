import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { release } from '../../lambda/core/rules/release.ts';
import { parseJson } from '../../lambda/core/rules/text.ts';
import { byDueIndex } from '../../lambda/core/table/table.ts';
import { StartupError, writeDurably } from '../system/durable-file.ts';
import type { Item } from '../table/expression.ts';
import { indexes, stored } from '../table/items.ts';
import { restoredItem } from './restored.ts';

/**
 * A backup of the table: JSON lines, the same of every table.
 *
 *     {"backup":"lfs-quota table","format":1,"version":"0.1.0","source":"serve","at":"2026-11-27T10:00:00.000Z"}
 *     {"pk":"TENANT#acme","sk":"TENANT",…}     an item as it is stored, of any kind, in any order
 *     {"items":1,"sha256":"…"}                 of all lines before it, with their line feeds
 */
const kind = 'lfs-quota table';
/** Raise it with every change that an older release could not read. */
const backupFormat = 1;
/** DynamoDB's items have up to 400 KB, and JSON up to six characters for a byte. */
const lineMax = 4 * 1024 ** 2;

/** The text of a backup, some lines at a time. @param items each as JSON. */
export async function* backupText(
  source: 'serve' | 'dynamodb',
  items: AsyncIterable<readonly string[]>,
): AsyncGenerator<string> {
  const hash = createHash('sha256');
  const hashed = (lines: readonly string[]) => {
    const text = lines.map((line) => `${line}\n`).join('');
    hash.update(text);
    return text;
  };
  const { version } = release;
  const at = new Date().toISOString();
  yield hashed([JSON.stringify({ backup: kind, format: backupFormat, version, source, at })]);
  let count = 0;
  try {
    for await (const some of items) {
      count += some.length;
      yield hashed(some);
    }
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    // Another process reads it, which tells why.
    return yield JSON.stringify({ failed: error.message });
  }
  yield `${JSON.stringify({ items: count, sha256: hash.digest('hex') })}\n`;
}

async function* linesOf(text: AsyncIterable<string>): AsyncGenerator<string[]> {
  let rest = '';
  for await (const chunk of text) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > lineMax) throw damaged('it has a line that is too long');
    yield lines;
  }
  if (rest !== '') yield [rest];
}

const damaged = (why: string) =>
  new StartupError(`The backup is cut or damaged: ${why}. Use another backup. Nothing was restored.`);

const fieldsOf = (line: string) => Object(parseJson(line)) as Readonly<Record<string, unknown>>;

/** @throws {StartupError} */
function checkHeader(line: string): void {
  const { backup, format, version } = fieldsOf(line);
  if (backup !== kind || typeof format !== 'number')
    throw new StartupError("The file isn't a backup of lfs-quota: its first line isn't a backup's.");
  if (format > backupFormat)
    throw new StartupError(
      `The backup has format ${format}, and this release reads up to ${backupFormat}. Use lfs-quota ${version} or later.`,
    );
}

/**
 * Reads a backup in pieces of a few lines, and in little memory.
 *
 * @returns its text as it is, and its items as JSON.
 * @throws {StartupError} if it isn't a backup, or, at its end, if something is missing or was changed.
 */
async function* readBackup(
  text: AsyncIterable<string>,
): AsyncGenerator<{ text: string; items: readonly string[] }> {
  const hash = createHash('sha256');
  let count = -1;
  let last: string | undefined;
  for await (const lines of linesOf(text)) {
    // The last line so far may be the last of all.
    const all = last === undefined ? lines : [last, ...lines];
    last = all.pop();
    if (all.length === 0) continue;
    if (count < 0) checkHeader(all[0] ?? '');
    const items = count < 0 ? all.slice(1) : all;
    count = Math.max(0, count) + items.length;
    const piece = all.map((line) => `${line}\n`).join('');
    hash.update(piece);
    yield { text: piece, items };
  }
  if (count < 0) checkHeader(last ?? '');
  const end = fieldsOf(last ?? '');
  if (typeof end['failed'] === 'string') throw new StartupError(end['failed']);
  if (typeof end['items'] !== 'number') throw damaged('its last line is missing');
  if (end['items'] !== count) throw damaged(`it has ${count} of ${end['items']} items`);
  if (end['sha256'] !== hash.digest('hex')) throw damaged('its checksum differs');
  yield { text: `${last}\n`, items: [] };
}

/** @throws {StartupError} for what no table holds. */
function itemOf(line: string): Item {
  const item = fieldsOf(line);
  const keys = indexes.flatMap(({ pk, sk }) => [pk, sk]).filter((name) => item[name] !== undefined);
  // The time at which an item is due is a number.
  const isKey = (name: string) =>
    typeof item[name] === (name === byDueIndex.sk ? 'number' : 'string') && !`${item[name]}`.includes('\0');
  try {
    if (!item['pk'] || !item['sk'] || !keys.every(isKey)) throw new TypeError('No item has this key.');
    stored(restoredItem(stored(item), { nowMs: 0, uploadsFromMs: 0 }) ?? item);
    return item;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw damaged('it has an item that no table can hold');
  }
}

/** The items of a backup, some at a time. @throws {StartupError} as {@link readBackup}, at the end too. */
export async function* itemsIn(text: AsyncIterable<string>): AsyncGenerator<readonly Item[]> {
  for await (const { items } of readBackup(text)) yield items.map(itemOf);
}

/**
 * Opened when it's read: an error of a stream that nobody reads yet would end the process.
 *
 * @throws {StartupError} without a cause: its code would be taken for one of the data folder.
 */
export async function* fileText(path: string): AsyncGenerator<string> {
  try {
    yield* createReadStream(path, 'utf8');
  } catch (error) {
    throw new StartupError(`Can't read the backup ${path}: ${error}.`);
  }
}

/**
 * Writes a backup to a file that only this user can read. It has its name once it is whole, checked and on the disk.
 *
 * @param toOutput gets the text for the name `-`.
 * @returns how many items it has. @throws {StartupError} if the text is cut, or the name is a device's, a link's or a folder's:
 * the file would take its place, such as that of /dev/null.
 */
export async function writeBackup(
  path: string,
  text: AsyncIterable<string>,
  toOutput: (text: string) => Promise<void>,
): Promise<number> {
  const there = await lstat(path).catch(() => undefined);
  if (path !== '-' && there?.isFile() === false)
    throw new StartupError(`${path} isn't a plain file. Name a new one, or - for standard output.`);
  let count = 0;
  async function* checked(): AsyncGenerator<string> {
    for await (const piece of readBackup(text)) {
      count += piece.items.length;
      yield piece.text;
    }
  }
  if (path !== '-') await writeDurably(path, checked());
  else for await (const piece of checked()) await toOutput(piece);
  return count;
}
