import * as z from 'zod';
import { type MappedRepo, mappedReposMax } from '../../domain/git-host.ts';
import type { RepoPath } from '../../domain/tenant.ts';
import type { Table } from '../../table/requests.ts';
import { DynamoDbRepoMarks, type RepoMarks } from './repo-marks.ts';

/** Which repos are mapped. */
export type MappedRepos = RepoMarks<MappedRepo> & Pick<DynamoDbMappedRepos, 'pin'>;

/** Mapped repos on the ledger's table, an item for each. */
export function createDynamoDbMappedRepos(table: Table): MappedRepos {
  return new DynamoDbMappedRepos(table);
}

class DynamoDbMappedRepos extends DynamoDbRepoMarks<MappedRepo> {
  constructor(table: Table) {
    super(table, {
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
  }

  /**
   * Notes the repository's number, unless one is known, or something else was decided since.
   *
   * @returns what holds now.
   * @throws {LedgerUnavailableError}
   */
  pin(input: RepoPath & { sinceMs: number; hostedId: string }): Promise<MappedRepo | undefined> {
    const { sinceMs, hostedId, ...path } = input;
    return this.change(path, (mapped) => {
      if (mapped?.sinceMs !== sinceMs || mapped.hostedId !== null) return undefined;
      const { host, name } = mapped;
      return { host, name, hostedId, sinceMs };
    });
  }
}
