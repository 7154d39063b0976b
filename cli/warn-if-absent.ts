import { repoPageSchema, repoSchema } from '../lambda/api/contract/repos.ts';
import type { ApiClient } from './api-client.ts';
import type { CliContext } from './context.ts';

/** A typo in a repo's name makes a token or rule that opens nothing. */
export async function warnIfAbsent(
  client: ApiClient,
  context: CliContext,
  { tenant, repo }: { tenant: string; repo: string },
): Promise<void> {
  const path = `/v1/tenants/${tenant}/repos`;
  if (await client.find({ path: `${path}/${repo}`, shape: repoSchema })) return;
  const { body } = await client.send({ method: 'GET', path: `${path}?limit=1000`, shape: repoPageSchema });
  const similar = body.repos.find((other) => plainName(other.repo) === plainName(repo));
  context.err(
    `There's no repo "${repo}" yet${similar ? ` (did you mean "${similar.repo}"?)` : ''}. The first push creates it.\n`,
  );
}

/** A name without what people mistype most. */
const plainName = (repo: string) => repo.toLowerCase().replaceAll(/[-_.]/g, '');
