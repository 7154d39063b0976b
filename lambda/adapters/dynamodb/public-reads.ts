import * as z from 'zod';
import { type PublicRead, publicReposMax } from '../../domain/public-read.ts';
import type { Table } from '../../table/requests.ts';
import { DynamoDbRepoMarks, type RepoMarks } from './repo-marks.ts';

/** What strangers read, and are metered by: of no matter to whoever has a token. */
export const publicPartition = (tenant: string) => `PUBLIC#${tenant}`;

/** Which repos anybody may download from. */
export type PublicReads = RepoMarks<PublicRead>;

/** Public repos on the ledger's table, an item for each. */
export function createDynamoDbPublicReads(table: Table): PublicReads {
  return new DynamoDbRepoMarks<PublicRead>(table, {
    partition: publicPartition,
    field: 'publicRead',
    fields: z.object({ monthlyLimitBytes: z.number().nullable(), sinceMs: z.number() }),
    listedMax: 2 * publicReposMax,
  });
}
