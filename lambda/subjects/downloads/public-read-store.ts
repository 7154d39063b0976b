import type { Table } from '../../core/table/requests.ts';
import { createDynamoDbRepoMarks, type RepoMarks } from '../../frame/access/repo-mark-store.ts';
import type { PublicRead } from '../hosts/rules/public-read.ts';
import { publicReadSchema, publicReposMax } from './rules/public-reads.ts';

/** What strangers read, and are metered by: of no matter to whoever has a token. */
export const publicPartition = (tenant: string) => `PUBLIC#${tenant}`;

/** Which repos anybody may download from. */
export type PublicReads = RepoMarks<PublicRead>;

/** Public repos on the ledger's table, an item for each. */
export function createDynamoDbPublicReads(table: Table): PublicReads {
  return createDynamoDbRepoMarks<PublicRead>(table, {
    partition: publicPartition,
    field: 'publicRead',
    fields: publicReadSchema,
    listedMax: 2 * publicReposMax,
  });
}
