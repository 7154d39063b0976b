import * as z from 'zod';
import type { RefreshLedger } from '../../ports/ledger.ts';
import { absent, exists } from './expressions.ts';
import { getItem, putItem, type Table } from './requests.ts';

const refreshKey = { pk: 'SCHEDULE', sk: 'SCHEDULE' } as const;

const refreshItem = z.object({
  handedUntilMs: z.number(),
  ranAtMs: z.number().optional(),
  round: z.object({
    beganMs: z.number(),
    untilMs: z.number(),
    doneUntilMs: z.number(),
    lastBeganMs: z.number(),
    lastUntilMs: z.number(),
    sinceMs: z.number(),
    nextUntilMs: z.number(),
  }),
});

/** How far the schedule has come: one item for all tenants, written once in each run. */
export function refreshMethods(table: Table): RefreshLedger {
  return {
    readRefreshState: async () => {
      const item = await getItem(table, refreshKey);
      return item && refreshItem.parse(item);
    },
    putRefreshState: async (state) => {
      await putItem(table, { item: { ...refreshKey, ...state }, condition: `${absent} OR ${exists}` });
    },
  };
}
