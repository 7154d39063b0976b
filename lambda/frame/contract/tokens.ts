import * as z from 'zod';
import { repoPattern } from '../../core/rules/names.ts';
import { answer, type Contract, managed } from './contract.ts';
import {
  filePrefix,
  grantScope,
  namesOrNull,
  page,
  pageQuery,
  stringOrNull,
  text,
  time,
  timeOrNull,
} from './fields.ts';
import { listOf } from './json.ts';

const lifetimeSecondsMin = 300;
export const lifetimeSecondsMax = 365 * 24 * 60 * 60;
const lifetimeRule = `must be a whole number of seconds from ${lifetimeSecondsMin} (5 minutes) to ${lifetimeSecondsMax} (365 days)`;

export const lifetimeSeconds = z
  .int(lifetimeRule)
  .min(lifetimeSecondsMin, lifetimeRule)
  .max(lifetimeSecondsMax, lifetimeRule);

/** The repos of a token are read with it on each request. */
export const tokenReposMax = 50;

const reposRule = `must have 1 to ${tokenReposMax} different repos`;

/** Repos that a token is for, as they are named in paths. */
export const tokenRepos = listOf(z.string().regex(repoPattern, 'must be the name of a repo, without .git'), {
  min: 1,
  max: tokenReposMax,
  rule: reposRule,
})
  .refine((repos) => new Set(repos).size === repos.length, reposRule)
  .meta({ uniqueItems: true });

/** Who manages a tenant manages all of it: for `refine`, what it says then, and what the schema says of it. */
export const isForItsScope = (body: {
  readonly scope?: string | undefined;
  readonly repos?: readonly string[] | null | undefined;
}) => body.scope !== 'manage' || !body.repos;
export const scopeRule = {
  path: ['repos'],
  message: "can't be set with the scope manage, which is for the whole tenant",
};
export const manageWithRepos = {
  not: {
    properties: { scope: { const: 'manage' }, repos: { type: 'array' } },
    required: ['scope', 'repos'],
  },
};

export const createTokenBody = z
  .strictObject({
    scope: grantScope.describe(
      "read: clone and pull. write: also push. gc: also garbage collection, without force. manage: also tokens, deletes and reconciles, but not the tenant's limit.",
    ),
    label: text('Its purpose.').optional(),
    user: text('Its user, such as a name or e-mail address: the owner of locks.').optional(),
    repos: tokenRepos.nullable().optional().describe('Its repos. null: all of the tenant.'),
    prefix: filePrefix
      .min(1, "can't be empty")
      .optional()
      .describe(
        'It can then only use files that start with this, in repos of kind files. End it with a slash: `7` also starts `77.png`.',
      ),
    expiresInSeconds: lifetimeSeconds
      .nullable()
      .optional()
      .describe("Its lifetime. null: until it's revoked."),
  })
  .refine(isForItsScope, scopeRule)
  .refine(({ scope, prefix }) => isForItsScope({ scope, repos: prefix === undefined ? null : [] }), {
    ...scopeRule,
    path: ['prefix'],
  })
  .meta({ id: 'CreateToken', ...manageWithRepos });

const tokenSchema = z
  .object({
    tokenId: z.string().describe("Identifies the token in lists. It isn't a secret."),
    scope: grantScope,
    label: stringOrNull,
    user: stringOrNull.describe('Its user. null: none was set.'),
    repos: namesOrNull.describe('Its repos. null: all.'),
    prefix: z.string().optional().describe('Only if its creator limited it to files that start with this.'),
    createdAt: time,
    expiresAt: timeOrNull.describe("When it expires; it's listed for one more day. null: never."),
    lastUsedAt: timeOrNull.describe('When it was last used, to the hour. null: not yet.'),
  })
  .meta({ id: 'Token' });

const tokenPageSchema = page('TokenPage', { tokens: z.array(tokenSchema) });

export const newTokenSchema = tokenSchema
  .extend({
    tenant: z.string(),
    token: z.string().describe("The secret, returned once. It isn't stored."),
  })
  .meta({ id: 'NewToken' });

export type TokenBody = z.output<typeof tokenSchema>;

const token = {
  tokenId: '5f0c1e2d3b4a5968',
  scope: 'write',
  label: 'build machine',
  user: 'ci@acme.example',
  repos: null,
  createdAt: '2026-11-21T05:00:00Z',
  expiresAt: '2027-02-19T05:00:00Z',
  lastUsedAt: null,
};

export const tokenContract = {
  'GET /v1/tenants/{tenant}/tokens': {
    id: 'listTokens',
    summary: 'The tokens of a tenant, the oldest first',
    description: "A page can be short without being the last: old expired tokens aren't shown.",
    access: 'manager',
    query: pageQuery,
    answers: {
      200: answer('One page, without the secrets.', tokenPageSchema, { tokens: [token], nextCursor: null }),
    },
  },
  'POST /v1/tenants/{tenant}/tokens': {
    id: 'createToken',
    summary: 'Create a token',
    ...managed('token.create'),
    takesRequestKey: true,
    body: {
      schema: createTokenBody,
      example: {
        scope: 'write',
        label: 'build machine',
        user: 'ci@acme.example',
        expiresInSeconds: 7_776_000,
      },
    },
    answers: {
      201: {
        description: 'The token with its secret, returned once.',
        schema: newTokenSchema,
        example: { ...token, tenant: 'acme', token: 'lfsq_…' },
        headers: { Location: 'Path of the token.' },
      },
    },
    problems: ['token-revoked'],
  },
  'GET /v1/tenants/{tenant}/tokens/{tokenId}': {
    id: 'getToken',
    summary: 'A token, without its secret',
    access: 'manager',
    answers: { 200: answer('The token.', tokenSchema, token) },
    problems: ['token-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/tokens/{tokenId}': {
    id: 'revokeToken',
    summary: 'Revoke a token immediately',
    description: 'URLs issued for it work for up to 30 more minutes.',
    access: 'manager',
    action: 'token.revoke',
    answers: { 204: { description: 'The token is revoked.' } },
    problems: ['token-not-found'],
  },
} as const satisfies Contract;
