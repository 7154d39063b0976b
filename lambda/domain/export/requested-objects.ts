import { isMemberName, memberName } from './member-name.ts';

/** An object that is asked for by its oid, with the name that it is to have in the archive. */
export interface RequestedObject {
  readonly oid: string;
  readonly name?: string | undefined;
}

/** The folder of what the archive tells about itself. */
const ownFolder = 'lfs/export';

/** The list as it lies in the store, until the export is planned. */
export function encodeRequested(objects: readonly RequestedObject[]): Uint8Array {
  return Buffer.from(JSON.stringify(objects));
}

/** @param bytes of {@link encodeRequested}. */
export function decodeRequested(bytes: Uint8Array): RequestedObject[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  return JSON.parse(text) as RequestedObject[];
}

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
    if (name !== undefined && !isMemberName(name))
      return {
        index,
        field: 'name',
        message:
          'must be a relative path that git takes: without empty segments, ., .. and .git in any spelling, without \\, ' +
          'drive letters and control characters',
      };
    if (name === ownFolder || name?.startsWith(`${ownFolder}/`))
      return {
        index,
        field: 'name',
        message: `must not lie below ${ownFolder}, where the archive has its list`,
      };
  }
  return clashing(objects);
}

/** With the slash before every other character, what lies in a folder follows it at once. */
const sortable = (name: string) => name.replaceAll('/', '\0');

function clashing(objects: readonly RequestedObject[]): ReturnType<typeof wrongRequested> {
  const names = objects.map((object, index) => ({ index, name: sortable(memberName(object)) }));
  names.sort((a, b) => (a.name === b.name ? a.index - b.index : a.name < b.name ? -1 : 1));
  for (const [at, { index, name }] of names.entries()) {
    const before = names[at - 1]?.name;
    if (before === name) return { index, field: 'name', message: 'is the name of two objects' };
    if (before !== undefined && name.startsWith(`${before}\0`))
      return { index, field: 'name', message: 'lies in a folder that is the name of another object' };
  }
  return undefined;
}
