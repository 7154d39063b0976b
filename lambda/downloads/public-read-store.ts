import * as z from 'zod';
import { createDynamoDbRepoMarks, type RepoMarks } from '../access/repo-mark-store.ts';
import type { Table } from '../table/requests.ts';
import { type PublicRead, publicReposMax } from './rules/public-reads.ts';

/** What strangers read, and are metered by: of no matter to whoever has a token. */
export const publicPartition = (tenant: string) => `PUBLIC#${tenant}`;

/** Which repos anybody may download from. */
export type PublicReads = RepoMarks<PublicRead>;

/** Public repos on the ledger's table, an item for each. */
export function createDynamoDbPublicReads(table: Table): PublicReads {
  return createDynamoDbRepoMarks<PublicRead>(table, {
    partition: publicPartition,
    field: 'publicRead',
    fields: z.object({ monthlyLimitBytes: z.number().nullable(), sinceMs: z.number() }),
    listedMax: 2 * publicReposMax,
  });
}
