import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { isOfFiles } from '../../core/ledger/rules/tenant.ts';
import { allPages, mapLimited } from '../../core/rules/async.ts';

/**
 * Which repos of a tenant are of files.
 *
 * @param input.repo only this one is asked for. null: all of the tenant.
 * @throws {LedgerUnavailableError}
 */
export async function fileReposOf(
  { ledger }: Pick<CoreDeps, 'ledger'>,
  { tenant, repo }: { tenant: string; repo: string | null },
): Promise<ReadonlySet<string>> {
  const read = async (one: string) => [await ledger.readRepo({ tenant, repo: one })];
  const repos = await (repo === null ? allPages(ledger.repos(tenant)) : read(repo));
  return new Set(repos.flatMap((each) => (each && isOfFiles(each) ? [each.repo] : [])));
}

export const headsAtOnce = 32;

/**
 * Without the empty objects that deleted files leave for a day. A file can be without bytes, too: only the store knows which is which.
 *
 * @param head asks the store. @param keyOf of what is listed.
 * @throws {StoreUnavailableError}
 */
export async function withoutEmptied<T extends { readonly sizeBytes: number }>(
  head: CoreDeps['store']['head'],
  listed: readonly T[],
  keyOf: (file: T) => string,
): Promise<T[]> {
  const bare = listed.filter(({ sizeBytes }) => sizeBytes === 0);
  const heads = await mapLimited(bare, headsAtOnce, (file) => head(keyOf(file)));
  const emptied = new Set(bare.filter((_, at) => heads[at] === undefined || heads[at].mark !== undefined));
  return listed.filter((file) => !emptied.has(file));
}
