import { isPlainText } from '../../../core/rules/text.ts';

/** An object of the store, as a listing shows it. */
export interface StoredObject {
  /** SHA-256 of its bytes as 64 lower-case hex digits. Empty for a file, whose name says nothing of its bytes. */
  readonly oid: string;
  readonly sizeBytes: number;
  /** As the store gave it: a copy is made only from this version. */
  readonly etag: string;
  /** Where it lies in the bucket. */
  readonly key: string;
  /** Its name in the archive. Without one it gets the name below `.git` that git-lfs looks for. */
  readonly name?: string;
}

interface DistinctObjects {
  /** All files by their keys, then one object for each oid, in the order of the oids. */
  readonly objects: readonly StoredObject[];
  /** Objects that were left out because another has their oid, and another size: one of them is broken. */
  readonly conflicts: readonly StoredObject[];
}

/** The order of texts by their UTF-16 units, for hex digits and keys alike the same on every machine. */
function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const compareObjects = (a: StoredObject, b: StoredObject) =>
  compareText(a.oid, b.oid) || compareText(a.key, b.key);

/**
 * Each oid once, however many repos have it: the object with the first key stays. The same objects in any order give
 * the same result, so the same plan.
 */
export function distinctObjects(listed: readonly StoredObject[]): DistinctObjects {
  // A repo is listed in this order. To sort a million objects takes a second.
  const isSorted = listed.every((object, index) => {
    const before = listed[index - 1];
    return before === undefined || compareObjects(before, object) < 0;
  });
  const sorted = isSorted ? listed : [...listed].sort(compareObjects);
  const objects: StoredObject[] = [];
  const conflicts: StoredObject[] = [];
  for (const object of sorted) {
    const kept = objects.at(-1);
    if (kept?.oid !== object.oid || object.oid === '') objects.push(object);
    else if (kept.sizeBytes !== object.sizeBytes) conflicts.push(object);
  }
  return { objects, conflicts };
}

/** A file of a repo of files: below its repo it has its own name, where nothing clashes with names of other repos or ours. */
export function fileOf(file: Pick<StoredObject, 'sizeBytes' | 'etag' | 'key'>): StoredObject {
  return { oid: '', ...file, name: `files/${file.key.slice(file.key.indexOf('/') + 1)}` };
}

/** UTF-8 bytes of a name. The archives could hold 65,535; file systems take 4,096. */
const nameBytesMax = 4096;

/**
 * The name of an object in an archive. Without a name of its own it is the one below `.git` where git-lfs looks, so
 * that an archive which is extracted there makes every checkout work without a server.
 */
export function memberName({ name, oid }: RequestedObject): string {
  return name ?? `lfs/objects/${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid}`;
}

const anyName = memberName({ oid: '0'.repeat(64) });

/** A name as long as that of an object. Whoever wants sizes alone need not make the name of each. */
export function nameLike({ name }: Pick<StoredObject, 'name'>): string {
  return name ?? anyName;
}

/**
 * Whether a given name may be one of a file in an archive: a relative path that git would put into a tree, on any file
 * system. Extracting it writes nothing elsewhere, and nothing into a `.git`, where a file can be a command.
 */
export function isMemberName(name: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is they that must not be in a name.
  if (/[\u0000-\u001f\u007f-\u009f\\]/.test(name) || !isWellFormed(name)) return false;
  if (Buffer.byteLength(name) > nameBytesMax || driveLetter.test(name)) return false;
  return name.split('/').every((segment) => !/^\.{0,2}$/.test(segment) && !isDotGit(segment));
}

/** `C:` on Windows, where any one character can be a drive. */
const driveLetter = /^.:/u;

/** What HFS+ leaves out of a name. */
const ignoredByHfs = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/**
 * Whether some file system takes a segment for `.git`: NTFS has a short name for it, drops dots and spaces at the end, and
 * what follows a colon is a stream of the same file.
 */
function isDotGit(segment: string): boolean {
  return /^(\.git|git~1)[. ]*(:|$)/i.test(segment) || /^\.git$/i.test(segment.replace(ignoredByHfs, ''));
}

/** What Windows keeps for devices, with any ending, and what no name there can have. */
const refusedByWindows = /^(con|prn|aux|nul|(com|lpt)[0-9¹²³]|conin\$|conout\$) *(\.|$)|[<>:"|?*]|[. ]$/i;

/**
 * Whether a name can be that of a file everywhere, as it is shown, and is no option of a command that gets it. Exports of
 * earlier versions have others.
 */
function isPortable(name: string): boolean {
  if (name.startsWith('-') || !isPlainText(name)) return false;
  return name.split('/').every((segment) => !refusedByWindows.test(segment));
}

/** Equal for names that Windows or macOS takes for one: they ignore case, and macOS how a letter is composed. */
const folded = (name: string) => name.normalize('NFC').toUpperCase().normalize('NFC');

/** False for half of a surrogate pair, which UTF-8 cannot express. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** An object that is asked for by its oid, with the name that it is to have in the archive. */
export interface RequestedObject {
  readonly oid: string;
  readonly name?: string | undefined;
}

/** The folder of what the archive tells about itself. git-lfs looks at nothing there. */
export const ownFolder = 'lfs/export';

/**
 * What is wrong with a list: a name that no file in an archive may have, an oid or a name that is there twice, or a name
 * that would have to be a file and a folder.
 *
 * @returns undefined if nothing is.
 */
export function wrongRequested(
  objects: readonly RequestedObject[],
): { readonly index: number; readonly field: 'oid' | 'name'; readonly message: string } | undefined {
  const oids = new Set<string>();
  for (const [index, { oid, name }] of objects.entries()) {
    if (oids.has(oid)) return { index, field: 'oid', message: 'is in the list twice' };
    oids.add(oid);
    if (name !== undefined && !(isMemberName(name) && isPortable(name)))
      return {
        index,
        field: 'name',
        message:
          'must be a relative path that git, Windows and macOS take: without empty segments, ., .. and .git in any spelling, ' +
          '\\ < > : " | ? *, invisible characters, - at its start, dots or spaces at an end, and names such as CON or aux.c',
      };
    if (name !== undefined && `${folded(name)}/`.startsWith(folded(`${ownFolder}/`)))
      return {
        index,
        field: 'name',
        message: `can't be below ${ownFolder}, where the archive has its list`,
      };
  }
  return clashing(objects);
}

/** With the slash before every other character, what lies in a folder follows it at once. */
const sortable = (name: string) => name.replaceAll('/', '\0');

function clashing(objects: readonly RequestedObject[]): ReturnType<typeof wrongRequested> {
  const names = objects.map((object, index) => ({ index, name: sortable(folded(memberName(object))) }));
  names.sort((a, b) => (a.name === b.name ? a.index - b.index : a.name < b.name ? -1 : 1));
  for (const [at, { index, name }] of names.entries()) {
    const before = names[at - 1]?.name;
    if (before === name)
      return { index, field: 'name', message: 'is the name of two objects, on Windows or macOS' };
    if (before !== undefined && name.startsWith(`${before}\0`))
      return { index, field: 'name', message: 'is below the name of another object' };
  }
  return undefined;
}

/**
 * The list of an export's objects as a text: a line for each, with oid, size, ETag, key and, if it has one, name. Names have no
 * line feeds, and keys of objects with oids no spaces. What can have any form is encoded. A file's key tells its name.
 */
export function encodeObjectList(objects: readonly StoredObject[]): Uint8Array {
  const lines = objects.map(({ oid, sizeBytes, etag, key, name }) => {
    if (oid === '') return ` ${sizeBytes} ${encodeURIComponent(etag)} ${encodeURIComponent(key)}\n`;
    const named = name === undefined ? '' : ` ${name}`;
    return `${oid} ${sizeBytes} ${encodeURIComponent(etag)} ${key}${named}\n`;
  });
  return Buffer.concat(chunksOf(lines).map((chunk) => Buffer.from(chunk.join(''))));
}

/** @throws {Error} for a text that is no such list. */
export function decodeObjectList(bytes: Uint8Array): StoredObject[] {
  const objects: StoredObject[] = [];
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at);
    if (end < 0) throw new Error('The list of objects ends within a line.');
    objects.push(objectIn(text.toString('utf8', at, end)));
    at = end + 1;
  }
  return objects;
}

function objectIn(line: string): StoredObject {
  const [oid = '', size = '', etag, key, ...rest] = line.split(' ');
  if (etag === undefined || key === undefined || !/^\d+$/.test(size))
    throw new Error("The list of objects has a line that isn't an object.");
  const object = { oid, sizeBytes: Number(size), etag: decodeURIComponent(etag), key };
  if (oid === '') return fileOf({ ...object, key: decodeURIComponent(key) });
  return rest.length === 0 ? object : { ...object, name: rest.join(' ') };
}

/** A text of all lines could be longer than a string may be. */
const linesAtOnce = 100_000;

function chunksOf(lines: readonly string[]): (readonly string[])[] {
  const chunks: (readonly string[])[] = [];
  for (let at = 0; at < lines.length; at += linesAtOnce) chunks.push(lines.slice(at, at + linesAtOnce));
  return chunks;
}
