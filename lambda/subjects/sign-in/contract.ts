import * as z from 'zod';
import { answer, type Contract } from '../../frame/contract/contract.ts';
import { names, stringOrNull } from '../../frame/contract/fields.ts';
import { gitHostKinds } from '../hosts/rules/git-hosts.ts';
import { nextPattern } from './rules/sign-in.ts';

/** Anybody can send these. */
const signInBytesMax = 8192;

const view = z
  .string()
  .regex(nextPattern, 'must be a view of the console, such as #acme')
  .describe("The console's view to show afterwards, such as `#acme/repos`. It's never a URL.");

const startBody = z
  .strictObject({
    host: z.string().max(20).describe('The id of a Git host of this server.'),
    next: view,
    addsOrganization: z
      .boolean()
      .optional()
      .describe(
        'true: stay signed in, and only show which organizations you are in. Your session must manage the tenant of `next`. You can then allow these organizations.',
      ),
  })
  .meta({ id: 'StartSignIn' });

const startedSchema = z
  .object({ url: z.string().describe('The page of the Git host to open.') })
  .meta({ id: 'StartedSignIn' });

const finishBody = z
  .strictObject({
    host: z.string().max(20).describe("The id of the Git host: the end of the redirect URL's path."),
    code: z.string().min(1).max(2000),
    state: z.string().min(1).max(200),
    iss: z.string().max(500).optional().describe('If the Git host sent it.'),
  })
  .meta({ id: 'FinishSignIn' });

const finishedSchema = z
  .object({
    tenant: stringOrNull.describe(
      'The tenant of your session. `GET /v1/session` has its rights. null: choose one of the tenants.',
    ),
    tenants: names.describe(
      'All tenants that let you in. A session is for one: to get another one, start again with its view as `next`.',
    ),
    next: view,
  })
  .meta({ id: 'FinishedSignIn' });

export type FinishedSignInBody = z.output<typeof finishedSchema>;

const hostsSchema = z
  .object({
    hosts: z.array(
      z.object({
        id: z.string(),
        kind: z.enum(gitHostKinds),
        url: z.string().describe('Of its pages.'),
      }),
    ),
  })
  .meta({ id: 'SignInHosts' });

const cookie = 'The cookie of the sign-in, or of the session.';

/** To sign in to the console with a git host. */
export const signInContract = {
  'GET /v1/sign-in': {
    id: 'listSignInHosts',
    summary: 'Git hosts to sign in with',
    access: 'anyone',
    answers: {
      200: answer('The hosts. None: sign in with a token.', hostsSchema, {
        hosts: [{ id: 'github', kind: 'github', url: 'https://github.com' }],
      }),
    },
    problems: ['internal-error'],
  },
  'POST /v1/sign-in': {
    id: 'startSignIn',
    summary: 'Start to sign in with a Git host',
    description:
      'For the console: send `lfs-quota-console: 1`. Sets the cookie `__Host-lfsq-login` for 10 minutes. Open the URL in the response.',
    access: 'anyone',
    body: { schema: startBody, example: { host: 'github', next: '#acme' }, bytesMax: signInBytesMax },
    answers: {
      200: {
        description: 'Where to continue.',
        schema: startedSchema,
        example: { url: 'https://github.com/login/oauth/authorize?…' },
        headers: { 'Set-Cookie': cookie },
      },
    },
    problems: ['sign-in-rejected'],
  },
  'POST /v1/sign-in/finish': {
    id: 'finishSignIn',
    summary: 'Finish to sign in with a Git host',
    description:
      'Sets the cookie of the session for 8 hours. It has the rights that the tenant allows your organization. All refusals are the same 403.',
    access: 'anyone',
    body: {
      schema: finishBody,
      example: { host: 'github', code: 'c0de…', state: 'st4te…' },
      bytesMax: signInBytesMax,
    },
    answers: {
      200: {
        description: 'The session.',
        schema: finishedSchema,
        example: {
          tenant: 'acme',
          tenants: ['acme'],
          next: '#acme',
        },
        headers: { 'Set-Cookie': cookie },
      },
    },
    problems: ['sign-in-rejected', 'git-host-unavailable'],
  },
} as const satisfies Contract;
