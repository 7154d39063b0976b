import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { expect } from 'vitest';
import type { ExportStack } from '../../../../support/subjects/exports/export-stack.ts';
import { untar } from '../../../../support/untar.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** The files of a zip, by name, whose CRC-32 are right in heads and directory. */
function unzip(zip: Uint8Array): Map<string, Uint8Array> {
  const bytes = Buffer.from(zip);
  const files = new Map<string, Uint8Array>();
  let at = bytes.readUInt32LE(bytes.length - 22 + 16);
  for (; bytes.readUInt32LE(at) === 0x02014b50; ) {
    const [size, nameLength, extra] = [
      bytes.readUInt32LE(at + 24),
      bytes.readUInt16LE(at + 28),
      bytes.readUInt16LE(at + 30),
    ];
    const name = bytes.toString('utf8', at + 46, at + 46 + nameLength);
    const head = bytes.readUInt32LE(at + 42);
    const start = head + 30 + bytes.readUInt16LE(head + 26) + bytes.readUInt16LE(head + 28);
    const content = bytes.subarray(start, start + size);
    expect([bytes.readUInt32LE(at + 16), bytes.readUInt32LE(head + 14)]).toEqual([
      crc32(content),
      crc32(content),
    ]);
    files.set(name, content);
    at += 46 + nameLength + extra + bytes.readUInt16LE(at + 32);
  }
  return files;
}

/** The archives of a job that is done, and what is in them. */
export async function archivesOf(stack: ExportStack) {
  const job = await stack.job();
  expect(job.failure).toBeNull();
  expect(job).toMatchObject({ state: 'done', isTidy: true });
  const files = new Map<string, Uint8Array>();
  const archives = new Map<string, Uint8Array>();
  for (const { key } of job.planned?.volumes ?? []) {
    const bytes = await stack.archives.get(key);
    if (!bytes) throw new Error(`There is no archive ${key}.`);
    archives.set(key, bytes);
    for (const [name, content] of job.request.format === 'tar' ? untar(bytes) : unzip(bytes))
      files.set(name, content);
  }
  return { job, files, archives };
}

/** That the archives have exactly these objects, and nothing else is left. */
export async function expectObjects(stack: ExportStack, stored: ReadonlyMap<string, Uint8Array>) {
  const { files, archives } = await archivesOf(stack);
  const objects = [...files].filter(([name]) => name.startsWith('lfs/objects/'));
  expect(objects.map(([name]) => name.slice(18)).sort()).toEqual([...stored.keys()].sort());
  for (const [name, bytes] of objects) expect(sha256(bytes)).toBe(name.slice(18));
  expect(await stack.left()).toEqual([...archives.keys()].sort());
  expect(stack.archives.openUploads).toEqual([]);
  return [...archives.values()].map(sha256);
}
