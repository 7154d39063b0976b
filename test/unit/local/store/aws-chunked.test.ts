import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeAwsChunked } from '../../../../local/store/aws-chunked.ts';
import { S3Error } from '../../../../local/store/s3-error.ts';

function encode(chunks: readonly Uint8Array[], trailers: Readonly<Record<string, string>>): Buffer {
  const parts: (string | Uint8Array)[] = [];
  for (const chunk of chunks) parts.push(`${chunk.length.toString(16)}\r\n`, chunk, '\r\n');
  parts.push('0\r\n');
  for (const [name, value] of Object.entries(trailers)) parts.push(`${name}:${value}\r\n`);
  parts.push('\r\n');
  return Buffer.concat(parts.map((part) => Buffer.from(part as string)));
}

/** Yields the bytes in pieces of these lengths, repeated. */
async function* inPieces(bytes: Buffer, lengths: readonly number[]): AsyncGenerator<Buffer> {
  for (let offset = 0, at = 0; offset < bytes.length; at += 1) {
    const length = lengths[at % lengths.length] ?? 1;
    yield bytes.subarray(offset, offset + length);
    offset += length;
  }
}

async function decode(bytes: Buffer, lengths: readonly number[] = [bytes.length + 1]) {
  const trailers: Record<string, string> = {};
  const chunks: Buffer[] = [];
  const decoded = decodeAwsChunked(inPieces(bytes, lengths), (name, value) => {
    trailers[name] = value;
  });
  for await (const chunk of decoded) chunks.push(chunk);
  return { body: Buffer.concat(chunks), trailers };
}

const lengths = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 });
const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 30 }), { maxLength: 4 });
const trailers = { 'x-amz-checksum-crc32': 'AAAAAA==' };

describe('the chunked framing', () => {
  test('yields the bytes and the trailers, however it is split', async () => {
    await fc.assert(
      fc.asyncProperty(chunks, lengths, async (parts, cuts) => {
        const decoded = await decode(encode(parts, trailers), cuts);
        expect(decoded).toEqual({ body: Buffer.concat(parts), trailers });
      }),
    );
  });

  test('is refused if it ends early, at any byte', async () => {
    const whole = encode([Buffer.from('some bytes'), Buffer.from('and more')], trailers);
    for (let length = 0; length < whole.length; length += 1) {
      await expect(decode(whole.subarray(0, length), [7])).rejects.toMatchObject({ code: 'IncompleteBody' });
    }
  });

  test.each([
    { name: 'a chunk that is longer than its size', text: '3\r\nabcd\r\n0\r\n\r\n', code: 'InvalidRequest' },
    { name: 'no size', text: 'xyz\r\nabc\r\n0\r\n\r\n', code: 'InvalidRequest' },
    { name: 'a negative size', text: '-1\r\nabc\r\n0\r\n\r\n', code: 'InvalidRequest' },
    { name: 'a signed chunk', text: '3;chunk-signature=00\r\nabc\r\n0\r\n\r\n', code: 'InvalidRequest' },
    { name: 'a line without end', text: 'f'.repeat(1000), code: 'InvalidRequest' },
    { name: 'bytes after the end', text: '0\r\n\r\nmore', code: 'InvalidRequest' },
    { name: 'an invalid trailer', text: '0\r\nnothing\r\n\r\n', code: 'MalformedTrailerError' },
    { name: 'too many trailers', text: `0\r\n${'a:b\r\n'.repeat(100)}\r\n`, code: 'MalformedTrailerError' },
  ])('is refused with $name', async ({ text, code }) => {
    for (const cuts of [[1], [1000]]) {
      const decoding = decode(Buffer.from(text), cuts);
      await expect(decoding).rejects.toBeInstanceOf(S3Error);
      await expect(decode(Buffer.from(text), cuts)).rejects.toMatchObject({ code });
    }
  });
});
