import { describe, expect, it } from 'vitest';
import type { Watch } from '../../../../lambda/core/ledger/rules/watch.ts';
import { createDynamoDbGcRuns } from '../../../../lambda/subjects/gc/gc-store.ts';
import { type Gc, newGc, tidiedGc } from '../../../../lambda/subjects/gc/rules/gc.ts';
import { onceOpen } from '../../../support/once-open.ts';
import { ledgerContext, type OpenTable, oid } from '../../ledger-context.ts';

const watchOf = (id: string, openedAtMs: number): Watch => ({ id, openedAtMs, untilMs: openedAtMs + 1000 });

export function gcContract(table: OpenTable): void {
  describe('the gc run of a repo', () => {
    const { create, dueAt } = ledgerContext(table);
    const gcRuns = onceOpen(async () => createDynamoDbGcRuns(await table()));

    it('is written over the version that was read', async () => {
      const path = { tenant: await create(), repo: 'app' };
      const gc = newGc({ repo: 'app', watch: watchOf('w1', 100) });
      let writes = 0;
      const put = (of: Gc, versionRead: number | null) => {
        writes += 1;
        return gcRuns.put({ ...path, gc: of, versionRead, writeId: `id${writes}` });
      };
      const run = { id: 'r', requestedAtMs: 1, reachableCount: 2, reachableSha256: 'ab', isDryRun: false };
      const sum = { objectCount: 1, bytes: 2 };
      const sums = { listed: sum, kept: sum, young: sum, inUse: sum, candidates: sum };
      const largest = [{ oid: oid('a'), sizeBytes: 2 }];
      const selection = { folder: 'f', files: 3, seenAtMs: 4, ...sums, largest };
      const full = {
        ...gc,
        state: 'deleting',
        run: { ...run, isForced: true, minAgeMs: 3 },
        selection,
        failure: { reason: 'too-much', message: 'Half.' },
        progress: { file: 1, line: 250, deleted: sum },
        endedAtMs: 9,
      } as const;
      const selecting = { found: selection, after: ['', 'ab', null], atMs: 5 };
      expect(await gcRuns.read(path)).toBeUndefined();
      expect(await put(gc, null)).toEqual({ ...gc, version: 1 });
      expect(await put(full, null)).toBeUndefined();
      expect(await gcRuns.read(path)).toEqual({ ...gc, version: 1 });
      for (const [version, [written, read = written]] of [
        [full],
        [{ ...full, state: 'selecting', selection: null, selecting } as const],
        [{ ...full, selecting: undefined }, full],
      ].entries()) {
        if (!written) throw new Error('There is nothing to write.');
        await put(written, version + 1);
        expect(await gcRuns.read(path)).toEqual({ ...read, version: version + 2 });
        expect(await put(gc, version + 1)).toBeUndefined();
      }
    });

    it('answers our own retry as it did before', async () => {
      const tenant = await create();
      const gc = newGc({ repo: 'app', watch: watchOf('w1', 100) });
      const input = { tenant, gc, versionRead: null, writeId: 'again' };
      const put = await gcRuns.put(input);
      expect(put).toBeDefined();
      expect(await gcRuns.put(input)).toEqual(put);
    });

    it('makes its tenant due until nothing is left to be done', async () => {
      const tenant = await create();
      const gc = { ...newGc({ repo: 'app', watch: watchOf('w1', 100) }), dueAtMs: 40 };
      await gcRuns.put({ tenant, gc, versionRead: null, writeId: 'id5' });
      expect(await dueAt(tenant, 50)).toBe('some');
      await gcRuns.put({ tenant, gc: tidiedGc(gc, { nowMs: 40 }), versionRead: 1, writeId: 'id6' });
      expect(await dueAt(tenant, 50)).toBe('nothing');
    });
  });
}
