import { describe, expect, it } from 'vitest';
import { createDynamoDbKeptGrants } from '../../../../lambda/subjects/hosts/grant-store.ts';
import { onceOpen } from '../../../support/once-open.ts';
import { type OpenTable, tenantName } from '../../ledger-context.ts';

export function keptGrantsContract(table: OpenTable): void {
  describe('what git hosts have said', () => {
    const grants = onceOpen(async () => createDynamoDbKeptGrants(await table()));
    const grant = (access: 'read' | 'write') => ({ hostUser: { id: 'github:1234', login: 'ada' }, access });

    it('is kept, and what holds longer is not replaced', async () => {
      const key = tenantName();
      expect(await grants.find(key)).toBeUndefined();
      await grants.keep({ key, grant: grant('read'), untilMs: 2000 });
      expect(await grants.find(key)).toEqual({ grant: grant('read'), untilMs: 2000 });
      await grants.keep({ key, grant: grant('write'), untilMs: 1000 });
      expect(await grants.find(key)).toEqual({ grant: grant('read'), untilMs: 2000 });
      await grants.keep({ key, grant: grant('write'), untilMs: 3000 });
      expect(await grants.find(key)).toEqual({ grant: grant('write'), untilMs: 3000 });
      expect(await grants.find(`${key}x`)).toBeUndefined();
    });
  });
}
