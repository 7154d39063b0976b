import { describe, expect, it } from 'vitest';
import { unmarkChange } from '../../lambda/core/ledger/deletion-store.ts';
import { tenantChange } from '../../lambda/core/ledger/reconcile-store.ts';
import { newDeletion, unmarkedObjectsMax } from '../../lambda/core/ledger/rules/deletion.ts';
import { expiredIntents } from '../../lambda/core/ledger/rules/reconciliation.ts';
import { LedgerUnavailableError } from '../../lambda/core/rules/errors.ts';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { updateExpression } from '../../lambda/core/table/expressions.ts';
import { tenantCommit } from '../support/ledger-records.ts';
import { ledgerContext, type OpenTable } from './ledger-context.ts';

const expressionBytesMax = 4096;

/** Not part of the contract: an engine may take a longer expression than AWS does. */
export function expressionLimit(table: OpenTable): void {
  describe('an update expression', () => {
    const { ledger, create, begin, commit } = ledgerContext(table);
    const ids = (count: number) => Array.from({ length: count }, (_, index) => `note${index}`);

    it('is refused if it is longer than DynamoDB allows', async () => {
      const tenant = await create();
      await begin(tenant);
      await expect(commit(tenant, 1, { expiredIntents: ids(300) })).rejects.toThrow(LedgerUnavailableError);
      const objects = { tenant, repo: 'app', deletionId: 'd', dueAtMs: 1, names: ids(300) };
      await expect(ledger.unmark(objects)).rejects.toThrow(LedgerUnavailableError);
      expect(await commit(tenant, 1)).toMatchObject({ kind: 'committed' });
    });

    it('fits for as many notes as one commit removes, with every other field of it', async () => {
      const tenant = await create();
      const note = { repo: 'app', bytes: 1, deadlineMs: 5 };
      for (const intentId of ids(250)) await ledger.announceDelete({ tenant, intentId, note });
      const begun = await begin(tenant);
      if (begun.kind !== 'begun') throw new Error(begun.kind);
      const expired = expiredIntents(defaultSettings, begun.before, 9e15);
      expect((await commit(tenant, 1, { expiredIntents: expired })).kind).toBe('committed');
      expect((await ledger.readTenant(tenant))?.intents.size).toBe(250 - expired.length);
      const change = tenantChange(tenantCommit(tenant, 1, { expiredIntents: expired }));
      expect(Buffer.byteLength(updateExpression(change))).toBeLessThan(expressionBytesMax);
    });

    it('fits for as many objects as one write takes out of a deletion', async () => {
      const tenant = await create();
      const names = ids(unmarkedObjectsMax).map((id) => id.padStart(64, '0'));
      const objects = new Map(names.map((name) => [name, 1]));
      const deletion = newDeletion({ id: 'd', repo: 'app', objects, dueAtMs: 9e15 });
      await ledger.putDeletion({ tenant, deletion });
      const key = { tenant, repo: 'app', deletionId: 'd' };
      expect(await ledger.unmark({ ...key, dueAtMs: 9e15, names })).toBe('unmarked');
      expect(Buffer.byteLength(updateExpression(unmarkChange(names)))).toBeLessThan(expressionBytesMax);
    });
  });
}
