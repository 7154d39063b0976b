import * as z from 'zod';
import { gitHostIdPattern } from '../../frame/access/rules/host-user.ts';
import { onlyTrue, stringOrNull, time } from '../../frame/contract/fields.ts';
import type { RepoFields } from '../../frame/contract/repos.ts';
import { linkedNameCharactersMax } from './rules/git-hosts.ts';

export const gitHostId = z
  .string()
  .regex(gitHostIdPattern, 'must be the id of a configured git host')
  .meta({ description: 'The id of a configured git host.', examples: ['github'] });

export const readThrough = z
  .boolean()
  .optional()
  .describe(
    'Users of the git host download what is missing here from there. Objects that were deleted here stay deleted. Default: false.',
  );

const gitHost = z
  .strictObject({
    host: gitHostId,
    repo: z
      .string()
      .max(linkedNameCharactersMax)
      .meta({ description: 'Full name of the repository there, without .git.', examples: ['acme/game'] }),
    repoId: z
      .string()
      .regex(/^[1-9]\d{0,15}$/, 'must be the number of a repository, as text')
      .optional()
      .describe("Its number there, which can't be reused like a name. Without it, it's stored at first use."),
    readThrough,
  })
  .nullable()
  .describe(
    'Links the repo to a repository on a git host: its users can log in with their tokens for the host. null: not linked.',
  );

const linkedSchema = z
  .object({
    host: z.string().meta({ description: 'The id of the git host.', examples: ['github'] }),
    repo: z.string().meta({ description: 'Full name of the repository there.', examples: ['acme/game'] }),
    repoId: stringOrNull.describe('Its number there. null: not used yet.'),
    readThrough: onlyTrue.describe('Only if missing objects are downloaded from there.'),
    since: time.describe('Time of the last change.'),
    ofTenant: onlyTrue.describe("Only if it's by the tenant's link. Only in a response about one repo."),
  })
  .meta({ id: 'GitHostOfRepo' });

/** To which repository of a git host a repo is linked. */
export const linkedRepoFields = {
  shown: {
    gitHost: linkedSchema
      .optional()
      .describe('Only if the repo is linked to a git host. Not in a subscription.'),
  },
  set: { gitHost: gitHost.optional() },
  query: {},
  example: {
    gitHost: { host: 'github', repo: 'acme/game', repoId: '123456789', since: '2026-11-20T08:00:00Z' },
  },
  problems: ['linked-repos-full'],
} as const satisfies RepoFields;

export type GitHostOfRepo = z.output<typeof linkedSchema>;
export type GitHostChange = z.output<typeof gitHost>;
