import * as z from 'zod';
import { type MappedRepo, mappedReposMax } from '../../domain/git-host.ts';
import type { MappedRepos } from '../../ports/git-hosts.ts';
import { DynamoDbRepoMarks } from './repo-marks.ts';
import type { Table } from './requests.ts';

/** Mapped repos on the ledger's table, an item for each. */
export function createDynamoDbMappedRepos(table: Table): MappedRepos {
  const marks = new DynamoDbRepoMarks<MappedRepo>(table, {
    partition: (tenant) => `MAPPED#${tenant}`,
    field: 'mapped',
    fields: z.object({
      host: z.string(),
      name: z.string(),
      hostedId: z.string().nullable(),
      sinceMs: z.number(),
    }),
    listedMax: 2 * mappedReposMax,
  });
  return {
    find: (path) => marks.find(path),
    list: (tenant) => marks.list(tenant),
    put: (input) => marks.put(input),
    pin: ({ sinceMs, hostedId, ...path }) =>
      marks.change(path, (mapped) => {
        if (mapped?.sinceMs !== sinceMs || mapped.hostedId !== null) return undefined;
        const { host, name } = mapped;
        return { host, name, hostedId, sinceMs };
      }),
    end: (input) => marks.end(input),
  };
}
