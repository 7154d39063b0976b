import type { StoredObject } from './stored-object.ts';

/**
 * The list of an export's objects as a text: a line for each, with oid, size, ETag, key and, if it has one, name. Keys
 * and names have no line feeds and keys no spaces; ETags are put into JSON, because a store may give them any form.
 */
export function encodeObjectList(objects: readonly StoredObject[]): Uint8Array {
  const lines = objects.map(({ oid, sizeBytes, etag, key, name }) => {
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
    throw new Error('The list of objects has a line that is no object.');
  const object = { oid, sizeBytes: Number(size), etag: decodeURIComponent(etag), key };
  return rest.length === 0 ? object : { ...object, name: rest.join(' ') };
}

/** A text of all lines could be longer than a string may be. */
const linesAtOnce = 100_000;

function chunksOf(lines: readonly string[]): (readonly string[])[] {
  const chunks: (readonly string[])[] = [];
  for (let at = 0; at < lines.length; at += linesAtOnce) chunks.push(lines.slice(at, at + linesAtOnce));
  return chunks;
}
