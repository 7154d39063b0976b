import * as z from 'zod';
import type { RefreshState } from '../../domain/refresh-state.ts';
import { absent, exists } from '../../table/expressions.ts';
import { getItem, methodsOn, putItem, type Table } from '../../table/requests.ts';

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
export function refreshMethods(table: Table) {
  return methodsOn(table, { readRefreshState, putRefreshState });
}

/** undefined: it never ran. */
async function readRefreshState(table: Table): Promise<RefreshState | undefined> {
  const item = await getItem(table, refreshKey);
  return item && refreshItem.parse(item);
}

/** Replaces it. A write that lands late takes the schedule back a little: some tenants are handed on twice. */
async function putRefreshState(table: Table, state: RefreshState): Promise<void> {
  await putItem(table, { item: { ...refreshKey, ...state }, condition: `${absent} OR ${exists}` });
}
