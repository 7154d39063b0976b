import * as z from 'zod';
import { answer, type Contract } from './contract.ts';
import { grantScope, names, namesOrNull, stringOrNull, time, timeOrNull } from './fields.ts';

const sessionSchema = z
  .object({
    kind: z.enum(['operator', 'tenant']).describe("The token's owner: the operator or a tenant."),
    tenant: stringOrNull.describe('null: the operator.'),
    tokenId: stringOrNull,
    scope: grantScope.nullable().describe('null: the operator.'),
    label: stringOrNull,
    user: stringOrNull,
    repos: namesOrNull.describe('Its repos. null: all.'),
    prefix: z.string().optional().describe('Only of a token for files that start with this.'),
    hostUser: z
      .string()
      .optional()
      .describe(
        'Only for users who signed in with a Git host: their host and number, such as `github:1234`.',
      ),
    changesUntil: time
      .optional()
      .describe('The same: until then, they can make changes. Later, they must sign in again.'),
    writeRepos: names.optional().describe('Repos that it can push to in addition to its scope.'),
    expiresAt: timeOrNull.describe('When the session or token expires. null: never.'),
    limitContactUrl: stringOrNull.describe(
      'Where users ask for a higher limit (setting `limitContactUrl`). null: not set.',
    ),
  })
  .meta({ id: 'Session' });

export type SessionBody = z.output<typeof sessionSchema>;

const session: SessionBody = {
  kind: 'tenant',
  tenant: 'acme',
  tokenId: '0f1e2d3c4b5a6978',
  scope: 'read',
  label: 'artists',
  user: null,
  repos: null,
  expiresAt: '2026-11-21T17:00:00Z',
  limitContactUrl: 'https://support.example.com/storage',
};

/** Sessions of the console: a cookie instead of a token. */
export const sessionContract = {
  'POST /v1/session': {
    id: 'startSession',
    summary: 'Sign in to the console',
    description:
      "Accepts any valid token and sets the cookie `__Host-lfsq` for 12 hours, or until the token expires. Revoking the token ends it immediately; rotating the admin token ends the operator's. On the management API it has its token's rights if you send the header `lfs-quota-console: 1`; on the LFS API it has none. Programs send their token instead.",
    access: 'holder',
    answers: {
      201: {
        description: 'The new session.',
        schema: sessionSchema,
        example: session,
        headers: { 'Set-Cookie': 'The session.' },
      },
    },
  },
  'GET /v1/session': {
    id: 'showSession',
    summary: 'The caller',
    description: 'The session or token.',
    access: 'anybody',
    keepsToPrefix: true,
    answers: { 200: answer('The caller.', sessionSchema, session) },
  },
  'DELETE /v1/session': {
    id: 'signOut',
    summary: 'End the session',
    access: 'session',
    answers: {
      204: { description: 'The session has ended.', headers: { 'Set-Cookie': 'Removes the cookie.' } },
    },
  },
} as const satisfies Contract;
