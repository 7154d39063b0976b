import { describe, expect, it } from 'vitest';
import type { RequestKeyRecord } from '../../lambda/frame/access/request-key-store.ts';
import { ledgerContext, type OpenTable, tenantName } from './ledger-context.ts';

export function requestKeyContract(table: OpenTable): void {
  describe('request keys', () => {
    const { requestKeys } = ledgerContext(table);
    const record = (id: string, more: Partial<RequestKeyRecord> = {}): RequestKeyRecord => ({
      id,
      bodySha256: 'ab',
      seed: 'seed',
      beganAtMs: 1000,
      expiresAtMs: 5000,
      isDone: false,
      ...more,
    });

    it('give every repetition the first record, and whether it is done', async () => {
      const id = tenantName();
      const again = record(id, { seed: 'other', bodySha256: 'cd', beganAtMs: 4999, expiresAtMs: 9000 });
      expect(await requestKeys.begin(record(id))).toEqual(record(id));
      expect(await requestKeys.begin(again)).toEqual(record(id));
      await requestKeys.finish(id);
      expect(await requestKeys.begin(again)).toEqual(record(id, { isDone: true }));
    });

    it('give many at a time the same record', async () => {
      const id = tenantName();
      const seeds = Array.from({ length: 10 }, (_, index) => `seed${index}`);
      const found = await Promise.all(seeds.map((seed) => requestKeys.begin(record(id, { seed }))));
      expect(new Set(found.map(({ seed }) => seed)).size).toBe(1);
    });

    it('can be used again after they have expired', async () => {
      const id = tenantName();
      await requestKeys.begin(record(id, { isDone: true }));
      const next = record(id, { seed: 'next', beganAtMs: 5000, expiresAtMs: 9000 });
      expect(await requestKeys.begin(next)).toEqual(next);
    });

    it('are known from their beginning until they expire', async () => {
      const id = tenantName();
      expect(await requestKeys.isKnown({ id, nowMs: 1000 })).toBe(false);
      await requestKeys.begin(record(id));
      expect(await requestKeys.isKnown({ id, nowMs: 4999 })).toBe(true);
      expect(await requestKeys.isKnown({ id, nowMs: 5000 })).toBe(false);
    });

    it('are not created by finish', async () => {
      const id = tenantName();
      await requestKeys.finish(id);
      expect(await requestKeys.begin(record(id))).toEqual(record(id));
    });
  });
}
