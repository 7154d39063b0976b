import { compareKeys } from '../../../domain/key-order.ts';
import type { RepoRecord } from '../../../domain/tenant.ts';
import type { Deps } from '../../../use-cases/deps.ts';
import { mapLimited } from '../../../use-cases/map-limited.ts';
import type { Reader } from '../access.ts';
import { encodeCursor } from '../cursor.ts';
import { pageSizeDefault } from '../queries.ts';

const readsAtOnce = 8;

/**
 * A page of a tenant's repos by name, as the ledger has them, and where the next begins. null: it was the last. For a
 * token with repos those are read one by one: a cursor names the last item that was read, and must name no other repo.
 */
export async function readRepoPage(
  { ledger }: Pick<Deps, 'ledger'>,
  input: Pick<Reader, 'token'> & {
    tenant: string;
    limit?: number | undefined;
    cursor?: string | undefined;
  },
): Promise<{ repos: readonly RepoRecord[]; nextCursor: string | null }> {
  const { tenant, token, limit = pageSizeDefault, cursor } = input;
  if (token?.repos) {
    const left = token.repos.filter((repo) => cursor === undefined || repo > cursor).sort(compareKeys);
    const names = left.slice(0, limit);
    const read = await mapLimited(names, readsAtOnce, (repo) => ledger.readRepo({ tenant, repo }));
    const last = left.length > limit ? names.at(-1) : undefined;
    return {
      repos: read.filter((record) => record !== undefined),
      nextCursor: last === undefined ? null : encodeCursor(last),
    };
  }
  const after = cursor !== undefined && { after: cursor };
  const repos = await ledger.listRepos({ tenant, pageSize: limit, ...after });
  const last = repos.length === limit ? repos.at(-1) : undefined;
  return { repos, nextCursor: last ? encodeCursor(last.repo) : null };
}
