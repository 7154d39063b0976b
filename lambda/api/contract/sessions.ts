import * as z from 'zod';
import type { Contract } from './contract.ts';
import { time } from './fields.ts';

const sessionSchema = z
  .object({
    kind: z.enum(['operator', 'tenant']).meta({ description: 'Whose token it is.' }),
    tenant: z.string().nullable().meta({ description: 'null: the operator, who is for all.' }),
    tokenId: z.string().nullable(),
    scope: z.enum(['read', 'write', 'manage']).nullable().meta({ description: 'null: the operator.' }),
    label: z.string().nullable(),
    user: z.string().nullable(),
    repos: z.array(z.string()).nullable().meta({ description: 'The repos that it is for. null: all.' }),
    expiresAt: time.nullable().meta({
      description:
        'When the session ends, or the token if there is no session. null: a token that never expires.',
    }),
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
};

/** Sessions of the console: a cookie instead of a token. */
export const sessionContract = {
  'POST /v1/session': {
    id: 'signIn',
    summary: 'Begin a session of the console',
    description:
      'Takes any valid token and sets the cookie `__Host-lfsq`, for 12 hours, or until the token expires. It ends at once when ' +
      'the token is revoked; that of the operator, when the admin token is rotated. On the management API it counts like its ' +
      'token, if the header `lfs-quota-console: 1` is sent with it; on the LFS API never. Programs need none: they send ' +
      'their token.',
    access: 'holder',
    answers: {
      201: {
        description: 'Who has signed in.',
        schema: sessionSchema,
        example: session,
        headers: { 'Set-Cookie': 'The session.' },
      },
    },
  },
  'GET /v1/session': {
    id: 'showSession',
    summary: 'Who asks',
    description: 'Of a session, or of any valid token.',
    access: 'anybody',
    answers: {
      200: { description: 'Whose token or session this is.', schema: sessionSchema, example: session },
    },
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
