import type { Table } from '../../core/table/requests.ts';
import { createDynamoDbRepoMarks } from '../../frame/access/repo-mark-store.ts';
import { type NamesMark, namedReposMax, namesSchema } from './rules/mark.ts';

/** Which repos have names, and who sees them, on the ledger's table: an item for each. */
export const createDynamoDbNames = (table: Table) =>
  createDynamoDbRepoMarks<NamesMark>(table, {
    partition: (tenant) => `NAMES#${tenant}`,
    field: 'names',
    fields: namesSchema,
    listedMax: 2 * namedReposMax,
  });

export type Names = ReturnType<typeof createDynamoDbNames>;
