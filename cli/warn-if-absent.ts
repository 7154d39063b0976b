import type { ApiClient } from './api-client.ts';
import type { CliContext } from './context.ts';
import { pageSizeMax } from './list-pages.ts';

/** A typo in a repo's name makes a token or rule that opens nothing. */
export async function warnIfAbsent(
  client: ApiClient,
  context: CliContext,
  { tenant, repo }: { tenant: string; repo: string },
): Promise<void> {
  if (await client.find('getRepo', { params: { tenant, repo } })) return;
  const { body } = await client.ask('listRepos', { params: { tenant }, query: { limit: pageSizeMax } });
  const similar = body.repos.find((other) => plainName(other.repo) === plainName(repo));
  context.err(
    `There's no repo "${repo}" yet${similar ? ` (did you mean "${similar.repo}"?)` : ''}. The first push creates it.\n`,
  );
}

/** A name without what people mistype most. */
const plainName = (repo: string) => repo.toLowerCase().replaceAll(/[-_.]/g, '');
