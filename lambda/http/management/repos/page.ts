import type { RepoRecord } from '../../../domain/tenant.ts';
import type { Deps } from '../../../use-cases/deps.ts';
import { encodeCursor } from '../cursor.ts';
import { pageSizeDefault } from '../queries.ts';

/** A page of a tenant's repos by name, as the ledger has them, and where the next begins. null: it was the last. */
export async function readRepoPage(
  { ledger }: Pick<Deps, 'ledger'>,
  input: { tenant: string; limit?: number | undefined; cursor?: string | undefined },
): Promise<{ repos: readonly RepoRecord[]; nextCursor: string | null }> {
  const { tenant, limit = pageSizeDefault, cursor } = input;
  const after = cursor !== undefined && { after: cursor };
  const repos = await ledger.listRepos({ tenant, pageSize: limit, ...after });
  const last = repos.length === limit ? repos.at(-1) : undefined;
  return { repos, nextCursor: last ? encodeCursor(last.repo) : null };
}
