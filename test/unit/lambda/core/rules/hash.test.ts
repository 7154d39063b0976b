import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { NodeSha256, sha256Hex } from '../../../../../lambda/core/rules/hash.ts';

it('a hash is of UTF-8 bytes, in lower-case hex', () => {
  expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  expect(sha256Hex('é')).toBe(createHash('sha256').update(Buffer.from('é', 'utf8')).digest('hex'));
});

describe('the hash of the signers', () => {
  const data = [Buffer.from('one'), Buffer.from('two')];
  const digestOf = async (hash: NodeSha256) => {
    for (const part of data) hash.update(part);
    return Buffer.from(await hash.digest()).toString('hex');
  };

  it('is SHA-256 of all that it was given', async () => {
    expect(await digestOf(new NodeSha256())).toBe(sha256Hex('onetwo'));
  });

  it('is the HMAC with a secret, in whatever form that comes', async () => {
    const key = Buffer.from('secret');
    const expected = createHmac('sha256', 'secret').update('onetwo').digest('hex');
    const padded = new Uint8Array([0, ...key, 0]);
    const { buffer } = new Uint8Array(key);
    const secrets = ['secret', new Uint8Array(key), buffer, new Uint16Array(buffer), padded.subarray(1, -1)];
    for (const secret of secrets) expect(await digestOf(new NodeSha256(secret))).toBe(expected);
    expect(await digestOf(new NodeSha256('other'))).not.toBe(expected);
  });

  it('says so if it is to be used again, rather than signing wrongly', () => {
    expect(() => new NodeSha256().reset()).toThrow("A hash can't be reused");
  });
});
