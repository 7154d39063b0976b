import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { isOfFiles } from '../../core/ledger/rules/tenant.ts';
import { allPages, mapLimited } from '../../core/rules/async.ts';
import type { StoredObject } from '../../core/store/rules/store.ts';

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

/** Whether there's a file, or an empty object whose mark is shown. */
export function isFile(
  stored: StoredObject | undefined,
  isShown: (mark: string) => boolean,
): stored is StoredObject {
  return stored !== undefined && (stored.mark === undefined || isShown(stored.mark));
}

/**
 * Without the empty objects that deleted files leave for a day. A file can be without bytes, too: only the store knows which is which.
 *
 * @param head asks the store. @param keyOf of what is listed. @param isShown of which marks empty objects stay.
 * @throws {StoreUnavailableError}
 */
export async function withoutEmptied<T extends { readonly sizeBytes: number }>(
  head: CoreDeps['store']['head'],
  listed: readonly T[],
  keyOf: (file: T) => string,
  isShown: (mark: string) => boolean = () => false,
): Promise<T[]> {
  const bare = listed.filter(({ sizeBytes }) => sizeBytes === 0);
  const heads = await mapLimited(bare, headsAtOnce, (file) => head(keyOf(file)));
  const hidden = new Set(bare.filter((_, at) => !isFile(heads[at], isShown)));
  return listed.filter((file) => !hidden.has(file));
}
