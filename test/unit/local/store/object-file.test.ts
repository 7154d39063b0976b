import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import {
  DamagedFileError,
  encodeRecord,
  type ObjectRecord,
  readBytes,
  readRecord,
} from '../../../../local/store/object-file.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();

/** @param more of the record, beside what the bytes say. */
function stored(bytes: Buffer, more: object = {}) {
  const hashOf = (name: string) => createHash(name).update(bytes);
  const record: ObjectRecord = {
    key: 'key',
    sizeBytes: bytes.length,
    etag: hashOf('md5').digest('hex'),
    checksums: {},
    sha256: hashOf('sha256').digest('base64'),
    lastModifiedMs: 1_800_000_000_000,
    ...more,
  };
  const file = path.join(tempFolder(), 'object');
  const write = (content: Buffer) => writeFileSync(file, Buffer.concat([content, encodeRecord(record)]));
  write(bytes);
  return { file, record, write };
}

it('a file whose record has the last time that a date can have is whole', () => {
  const { file, record } = stored(Buffer.from('x'), { lastModifiedMs: 8.64e15 });
  expect(readRecord(file)).toEqual(record);
});

it.each([
  ...['key', 'etag', 'checksums', 'lastModifiedMs'].map((name) => ({ [name]: undefined })),
  ...[8.64e15 + 1, -1].map((lastModifiedMs) => ({ lastModifiedMs })),
  { etag: `${'0'.repeat(32)}\n` },
  { sha256: `${'0'.repeat(44)}\n` },
  { checksums: { sha256: '0'.repeat(43) } },
])('a file whose record has %o is damaged', (more) => {
  const { file } = stored(Buffer.from('x'), more);
  expect(() => readRecord(file)).toThrow(DamagedFileError);
});

it.each([
  [1, 0],
  [128 * 1024, 0],
  [128 * 1024 + 1, 128 * 1024],
  [300_000, 256 * 1024],
])('of %i bytes with a wrong one, the last piece is never sent', async (sizeBytes, sentBytes) => {
  const bytes = Buffer.alloc(sizeBytes, 'x');
  const { file, record, write } = stored(bytes);
  const receive = async () => {
    const received: Buffer[] = [];
    const body = readBytes(file, record, { first: 0, sizeBytes }).on('data', (piece) => received.push(piece));
    const error = await new Promise((resolve) =>
      body.once('error', resolve).once('end', () => resolve(null)),
    );
    return { sent: Buffer.concat(received), error };
  };
  const whole = await receive();
  expect([whole.sent.equals(bytes), whole.error]).toEqual([true, null]);
  bytes[0] = 0;
  write(bytes);
  const { sent, error } = await receive();
  expect([sent.length, error]).toEqual([sentBytes, expect.any(DamagedFileError)]);
});
