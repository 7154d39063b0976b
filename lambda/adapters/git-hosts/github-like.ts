import type { z } from 'zod';
import type { PersonAccess } from '../../domain/person.ts';
import type { HostRefusal } from '../../ports/git-hosts.ts';
import { type HostFindings, parsed, refusalOf } from './answers.ts';
import { type Asking, getJson } from './get-json.ts';
import { accountShape, repositoryShape } from './shapes.ts';

/**
 * Asks an API of GitHub's form, as Gitea's is: who it is, and what they may do with the repository. Both tell what the
 * person may do, whatever the token may.
 *
 * @param base what stands before the paths that both have.
 */
export async function askGitHubLike(
  asking: Asking,
  { base, name, nowMs }: { base: string; name: string; nowMs: () => number },
): Promise<HostFindings> {
  const escaped = name.split('/').map(encodeURIComponent).join('/');
  const [user, repository] = await Promise.all([
    getJson(asking, `${base}/user`),
    getJson(asking, `${base}/repos/${escaped}`),
  ]);
  const refusal = refusalOf(user, nowMs()) ?? refusalOf(repository, nowMs());
  if (refusal) return refusal;
  const { id, login } = parsed(accountShape, user);
  const found = parsed(repositoryShape, repository);
  const access = accessOf(found);
  if (access !== 'read' && access !== 'write') return { kind: 'refused', reason: access };
  return { kind: 'found', userId: id, login, access, hostedId: found.id };
}

/** To pull from a repository that everybody can read makes nobody one of its people. */
function accessOf({
  private: isPrivate,
  archived,
  permissions,
}: z.output<typeof repositoryShape>): PersonAccess | HostRefusal {
  const { pull, push, triage } = permissions;
  if (push) return archived ? 'read' : 'write';
  if (!pull) return 'no-access';
  return isPrivate || triage === true ? 'read' : 'not-a-member';
}
