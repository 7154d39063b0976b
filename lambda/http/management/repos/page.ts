import { encodeCursor, pageSizeDefault } from '../../../api/contract/fields.ts';
import type { Reader } from '../../../api/management/access.ts';
import { compareKeys } from '../../../domain/key-order.ts';
import type { RepoRecord } from '../../../domain/tenant.ts';
import type { Deps } from '../../../use-cases/deps.ts';
import { mapLimited } from '../../../use-cases/map-limited.ts';
import { uploadingRepos } from '../../../use-cases/uploading-repos.ts';

const readsAtOnce = 8;

/**
 * A page of a tenant's repos by name, as the ledger has them, and where the next begins. null: it was the last. For a
 * token with repos those are read one by one: a cursor names the last item that was read, and must name no other repo.
 * `uploading` has repos that the ledger has no item of yet.
 */
export async function readRepoPage(
  deps: Pick<Deps, 'ledger' | 'clock'>,
  input: Pick<Reader, 'token'> & {
    tenant: string;
    limit?: number | undefined;
    cursor?: string | undefined;
  },
): Promise<{ repos: readonly RepoRecord[]; uploading: readonly string[]; nextCursor: string | null }> {
  const { ledger } = deps;
  const { tenant, token, limit = pageSizeDefault, cursor } = input;
  if (token?.repos) {
    const left = token.repos.filter((repo) => cursor === undefined || repo > cursor).sort(compareKeys);
    const names = left.slice(0, limit);
    const read = await mapLimited(names, readsAtOnce, (repo) => ledger.readRepo({ tenant, repo }));
    const last = left.length > limit ? names.at(-1) : undefined;
    const unknown = names.filter((_, index) => read[index] === undefined);
    return {
      repos: read.filter((record) => record !== undefined),
      uploading: await uploadingRepos(deps, { tenant, repos: unknown }),
      nextCursor: last === undefined ? null : encodeCursor(last),
    };
  }
  const after = cursor !== undefined && { after: cursor };
  const repos = await ledger.listRepos({ tenant, pageSize: limit, ...after });
  const last = repos.length === limit ? repos.at(-1) : undefined;
  const uploading = await uploadingRepos(deps, { tenant, after: cursor, until: last?.repo });
  return { repos, uploading, nextCursor: last ? encodeCursor(last.repo) : null };
}
