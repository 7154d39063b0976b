import { describe, expect, it } from 'vitest';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import { batchTakes, readBatch } from '../../../../../lambda/subjects/lfs/batch.ts';
import { decode as decodeAs } from '../../../../../lambda/subjects/lfs/operations.ts';
import { memoryDeps } from '../../../../support/memory/deps.ts';

function decode(body: unknown) {
  const asked = decodeAs(defaultSettings, JSON.stringify(body), batchTakes);
  return asked.ok ? readBatch(memoryDeps(), asked.value, { tenant: 'acme', repo: 'game' }) : asked;
}

describe('a batch request', () => {
  it.each([
    ['objects', { operation: 'download', objects: Array.from({ length: 340_001 }, () => ({})) }],
    ['objects', { operation: 'download', objects: Array.from({ length: 1001 }, () => 1) }],
  ])('with too many %s is refused before they are looked at one by one', (_what, body) => {
    expect(decode(body)).toMatchObject({ statusCode: 413 });
  });

  it('with more transfers than any client has is refused before they are looked at one by one', () => {
    const transfers = Array.from({ length: 340_001 }, () => 1);
    const body = { operation: 'download', transfers, objects: [] };
    expect(decode(body)).toMatchObject({
      statusCode: 422,
      message: expect.stringMatching(/transfers/),
    });
  });

  it('is refused in a few words, whatever it holds', () => {
    const message = (body: unknown) => JSON.stringify(decode(body)).length;
    expect(message({ operation: 'x'.repeat(100_000), objects: [] })).toBeLessThan(300);
    expect(message({ operation: 'download', objects: [{ oid: 'x'.repeat(100_000) }] })).toBeLessThan(300);
  });
});
