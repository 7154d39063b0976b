import * as z from 'zod';
import { text } from '../../../api/contract/fields.ts';
import { listOf } from '../../../api/json.ts';
import { repoPattern } from '../../../domain/names.ts';

const lifetimeSecondsMin = 300;
export const lifetimeSecondsMax = 365 * 24 * 60 * 60;
const lifetimeRule = `must be a whole number of seconds from ${lifetimeSecondsMin} (5 minutes) to ${lifetimeSecondsMax} (365 days)`;

/** The repos of a token are read with it on each request. */
export const tokenReposMax = 50;

const reposRule = `must name 1 to ${tokenReposMax} repos, none of them twice`;

/** Repos that a token is for, as they are named in paths. */
export const tokenRepos = listOf(z.string().regex(repoPattern, 'must be the name of a repo, without .git'), {
  min: 1,
  max: tokenReposMax,
  rule: reposRule,
})
  .refine((repos) => new Set(repos).size === repos.length, reposRule)
  .meta({ uniqueItems: true });

export const createTokenBody = z
  .strictObject({
    scope: z.enum(['read', 'write', 'manage']).meta({
      description:
        'read: clone and pull. write: push too. manage: administer the tenant too, but for its limit: tokens, deletes, ' +
        'recounts.',
    }),
    label: text('What the token is for.').optional(),
    user: text('Whom it stands for, such as a name or a mail address. Locks are owned by it.').optional(),
    repos: tokenRepos
      .nullable()
      .optional()
      .meta({ description: 'The repos that it is for. null: all of the tenant.' }),
    expiresInSeconds: z
      .int(lifetimeRule)
      .min(lifetimeSecondsMin, lifetimeRule)
      .max(lifetimeSecondsMax, lifetimeRule)
      .nullable()
      .optional()
      .meta({ description: 'How long it is valid. null: until it is revoked.' }),
  })
  .refine((body) => body.scope !== 'manage' || !body.repos, {
    path: ['repos'],
    message: 'cannot be set with the scope manage, which is for the whole tenant',
  })
  .meta({
    id: 'CreateToken',
    not: {
      properties: { scope: { const: 'manage' }, repos: { type: 'array' } },
      required: ['scope', 'repos'],
    },
  });
