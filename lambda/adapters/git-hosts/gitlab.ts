import * as z from 'zod';
import { type HostFindings, parsed, refusalOf } from './answers.ts';
import { type Asking, type Got, getJson } from './get-json.ts';
import { login, numberId } from './shapes.ts';

/** Levels of GitLab. @see https://docs.gitlab.com/api/members/#roles */
const levels = { reporter: 20, developer: 30 } as const;

const member = z.object({ access_level: z.int().min(0) });
const userShape = z.object({ id: numberId, username: login });
const projectShape = z.object({
  id: numberId,
  archived: z.boolean().default(false),
  permissions: z
    .object({ project_access: member.nullish(), group_access: member.nullish() })
    .nullish()
    .transform((permissions) =>
      Math.max(permissions?.project_access?.access_level ?? 0, permissions?.group_access?.access_level ?? 0),
    ),
});

/**
 * Asks GitLab who it is, and which level they have in the project. A project that everybody can read makes nobody a
 * member. What somebody has by a group that was invited, the project does not tell: then the list of all members does.
 */
export async function askGitLab(
  asking: Asking,
  { name, nowMs }: { name: string; nowMs: () => number },
): Promise<HostFindings> {
  const projectPath = `/api/v4/projects/${encodeURIComponent(name)}`;
  const [user, project] = await Promise.all([getJson(asking, '/api/v4/user'), getJson(asking, projectPath)]);
  const refusal = refusalOf(user, nowMs()) ?? refusalOf(project, nowMs());
  if (refusal) return refusal;
  const { id, username } = parsed(userShape, user);
  const found = parsed(projectShape, project);
  let level = found.permissions;
  if (level < levels.developer) {
    const asMember = await getJson(asking, `${projectPath}/members/all/${id}`);
    const unknown = refusalOf(asMember, nowMs());
    if (unknown?.kind === 'limited') return unknown;
    // Who is no member is not found.
    if (!unknown) level = Math.max(level, levelOf(asMember));
  }
  if (level < levels.reporter) return { kind: 'refused', reason: 'not-a-member' };
  const access = level >= levels.developer && !found.archived ? 'write' : 'read';
  return { kind: 'found', userId: id, login: username, access, hostedId: found.id };
}

/** One who is awaited, or whose time is over, is none. */
function levelOf(got: Got): number {
  const shape = member.extend({ state: z.string().optional() });
  const { access_level: level, state } = parsed(shape, got);
  return state === undefined || state === 'active' ? level : 0;
}
