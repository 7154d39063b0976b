import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bucket, StoreFixture } from '../../../support/store-fixture.ts';

let store: StoreFixture;

beforeAll(async () => {
  store = await StoreFixture.start();
});

afterAll(async () => {
  expect(store.errors).toEqual([]);
  await store.stop();
});

const body = Buffer.from('a body that is framed');
const checksums = {
  crc32: () => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(crc32(body));
    return bytes.toString('base64');
  },
  sha256: () => createHash('sha256').update(body).digest('base64'),
};

async function put(input: { trailerName: string; trailers: string; decodedLength?: number }) {
  const framed = `${body.length.toString(16)}\r\n${body}\r\n0\r\n${input.trailers}\r\n`;
  return await store.send({
    method: 'PUT',
    path: `/${bucket}/framed`,
    body: Buffer.from(framed),
    headers: {
      'content-encoding': 'aws-chunked',
      'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
      'x-amz-decoded-content-length': String(input.decodedLength ?? body.length),
      'x-amz-trailer': input.trailerName,
    },
  });
}

const read = () => store.send({ method: 'GET', path: `/${bucket}/framed` });

describe('checksums in trailers', () => {
  test.each(['crc32', 'sha256'] as const)('are checked and kept: %s', async (name) => {
    const trailerName = `x-amz-checksum-${name}`;
    expect((await put({ trailerName, trailers: `${trailerName}:${checksums[name]()}\r\n` })).status).toBe(
      200,
    );
    expect((await read()).body.equals(body)).toBe(true);
    const headers = { 'x-amz-checksum-mode': 'ENABLED' };
    const head = await store.send({ method: 'HEAD', path: `/${bucket}/framed`, headers });
    expect(head.headers[trailerName]).toBe(checksums[name]());
    await store.send({ method: 'DELETE', path: `/${bucket}/framed` });
  });

  const crc = 'x-amz-checksum-crc32';
  test.each([
    { name: 'wrong', input: { trailerName: crc, trailers: `${crc}:AAAAAA==\r\n` }, code: 'BadDigest' },
    { name: 'missing', input: { trailerName: crc, trailers: '' }, code: 'MalformedTrailerError' },
    { name: 'no checksum', input: { trailerName: crc, trailers: `${crc}:?\r\n` }, code: 'InvalidRequest' },
    {
      name: 'unknown',
      input: { trailerName: 'x-amz-checksum-crc64nvme', trailers: '' },
      code: 'NotImplemented',
    },
    {
      name: 'of a body that is too short',
      input: { trailerName: crc, trailers: '', decodedLength: body.length + 1 },
      code: 'IncompleteBody',
    },
    {
      name: 'of a body that is too long',
      input: { trailerName: crc, trailers: '', decodedLength: body.length - 1 },
      code: 'InvalidRequest',
    },
  ])('refuse the upload: $name', async ({ input, code }) => {
    expect((await put(input)).code).toBe(code);
    expect((await read()).status).toBe(404);
    expect(await store.uploadsLeft()).toEqual([]);
  });
});
