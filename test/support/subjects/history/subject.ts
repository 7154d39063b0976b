import { expect } from 'vitest';
import { dayMs } from '../../../../lambda/core/rules/dates.ts';
import { createDynamoDbCorrections } from '../../../../lambda/subjects/history/correction-store.ts';
import { createDynamoDbHistory } from '../../../../lambda/subjects/history/history-store.ts';
import { historyDaysMax } from '../../../../lambda/subjects/history/rules/history.ts';
import { usageFileName } from '../../../../lambda/subjects/history/usage-files.ts';
import { path, type TestedSubject, tenant } from '../../subject.ts';

export const history = {
  /** 100 days. */
  async inUse({ history }, { tenant, nowMs }) {
    const noted = {
      tenant,
      storedBytes: 4e9,
      objectCount: 4000,
      highestBytes: 4e9,
      highestUsedBytes: 4e9,
      limitBytes: 5e12,
      epoch: 1,
    };
    for (let day = 1; day <= 100; day += 1) await history.note({ ...noted, atMs: nowMs - day * dayMs });
  },
  fill: {
    history: async ({ history }, atMs) => {
      const count = { tenant, atMs, storedBytes: 1, objectCount: 1, limitBytes: 1 };
      await history.note({ ...count, epoch: 1, highestBytes: 1, highestUsedBytes: 1 });
      await history.noteWeek({ ...path, epoch: 1, week: 2970, storedBytes: 1, atMs });
    },
    corrections: async ({ corrections }, atMs) => {
      await corrections.add({ tenant, hourMs: 0, number: 1, byteSeconds: '1', reason: 'why', atMs });
    },
  },
  blocks: {
    json: () => false,
    /** test/unit/lambda/subjects/history/meters.test.ts runs them. */
    js: (recipes) => 'stripe' in recipes,
  },
  variables: { refresh: ['BUCKET', 'S3_REGION'] },
  beside: {
    folder: '_usage',
    reached: [
      ['refresh', 'DeleteObject', '_usage/*'],
      ['refresh', 'PutObject', '_usage/*'],
    ],
    keys: [[`${usageFileName(0)}-2.jsonl`, /^_usage\/1970\/01\/01\/00-2\.jsonl$/]],
  },
  limits: { 'What is kept': { 'History of usage': `${historyDaysMax} days` } },
  kept: [
    {
      what: 'a day or a repo of the history, after as many days as are kept',
      by: ['note', 'addRefusals', 'putSample', 'noteWeek'].map(
        (name) => `lambda/subjects/history/history-store.ts ${name}`,
      ),
      async write({ table, tenant, atMs, second, day }) {
        const history = createDynamoDbHistory(table);
        const counts = { tenant, atMs, storedBytes: 1, objectCount: 1, limitBytes: null };
        await history.note({ ...counts, epoch: 1, highestBytes: 1, highestUsedBytes: 1 });
        const last = {
          atMs,
          repo: 'app',
          user: null,
          files: 1,
          bytes: 1,
          isAtLeast: false,
          shortBytes: 1,
          limit: 'tenant',
        } as const;
        await history.addRefusals({ ...counts, usedBytes: 1, count: 1, last });
        await history.putSample({ tenant, days: [], atMs });
        await history.noteWeek({ tenant, repo: 'app', epoch: 1, week: 2970, storedBytes: 1, atMs });
        const ofDay = { pk: 'HISTORY#acme', sk: 'DAY#2026-11-22', end: second + 400 * day };
        return [ofDay, ofDay, { ...ofDay, sk: 'SAMPLE' }, { ...ofDay, sk: 'REPO#app' }];
      },
    },
    {
      what: 'a correction of byte-hours, after as many days as are kept',
      by: ['lambda/subjects/history/correction-store.ts fields'],
      async write({ table, tenant, atMs, second, day }) {
        const made = { tenant, number: 1, byteSeconds: '1', reason: 'why', atMs };
        await createDynamoDbCorrections(table).add({ ...made, hourMs: Date.UTC(2026, 10, 22, 7) });
        return [{ pk: 'HISTORY#acme', sk: 'FIX#2026-11-22T07Z#01', end: second + 400 * day }];
      },
    },
  ],
  older: {
    read: async ({ history }) => {
      const days = { tenant: 'acme', from: '2026-11-01', to: '2026-11-30' };
      expect(await history.days(days)).toHaveLength(2);
    },
  },
} satisfies TestedSubject;
