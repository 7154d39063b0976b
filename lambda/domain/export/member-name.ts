import type { StoredObject } from './stored-object.ts';

/** UTF-8 bytes of a name. The archives could hold 65,535; file systems take 4,096. */
const nameBytesMax = 4096;

/**
 * The name of an object in an archive. Without a name of its own it is the one below `.git` where git-lfs looks, so
 * that an archive which is extracted there makes every checkout work without a server.
 */
export function memberName({
  name,
  oid,
}: Pick<StoredObject, 'oid'> & { readonly name?: string | undefined }): string {
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

/** False for half of a surrogate pair, which UTF-8 cannot express. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** True if every character of a text is ASCII. */
export function isAscii(text: string): boolean {
  return !/[^ -~]/.test(text);
}
