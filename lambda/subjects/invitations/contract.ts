import * as z from 'zod';
import { answer, type Contract, managed } from '../../frame/contract/contract.ts';
import { flag, namesOrNull, scope, stringOrNull, text, time } from '../../frame/contract/fields.ts';
import {
  isForItsScope,
  lifetimeSeconds,
  manageWithRepos,
  newTokenSchema,
  scopeRule,
  tokenRepos,
} from '../../frame/contract/tokens.ts';

/** Anybody can send these. */
const strangerBodyBytesMax = 4096;

const repos = tokenRepos.nullable().optional().describe('Its repos. null: all of the tenant.');

export const invitedSecondsDefault = 90 * 24 * 60 * 60;

const createInvitationBody = z
  .strictObject({
    scope: scope.optional().meta({ default: 'write', description: 'Scope of the token.' }),
    repos,
    user: text('User of the token. Without it, the invited user chooses a name.').optional(),
    expiresInSeconds: lifetimeSeconds.optional().meta({
      default: invitedSecondsDefault,
      description: "Lifetime of the token. It never outlives the inviter's token.",
    }),
  })
  .refine(isForItsScope, scopeRule)
  .meta({ id: 'CreateInvitation', ...manageWithRepos });

const invitationSchema = z
  .object({
    invitationId: z.string(),
    scope,
    repos: namesOrNull.describe('null: all.'),
    user: stringOrNull.describe('null: the invited user chooses.'),
    inviter: stringOrNull.describe('User or label of its creator. null: none, or the operator.'),
    expiresInSeconds: z.int().min(1).describe('Lifetime of the token.'),
    createdAt: time,
    expiresAt: time.describe('When the link expires: 7 days after its creation.'),
  })
  .meta({ id: 'Invitation' });

const newInvitationSchema = invitationSchema
  .extend({
    link: z
      .string()
      .describe(
        'The one-time link, returned once. Its secret is the part after `/#_join/`. It starts with the tenant and a dot.',
      ),
  })
  .meta({ id: 'NewInvitation' });

const acceptBody = z
  .strictObject({
    secret: z.string().min(1, "can't be empty").max(200, 'must have at most 200 characters'),
    user: text('Your name. Ignored if the invitation has a user.').optional(),
  })
  .meta({ id: 'AcceptInvitation' });

export const consoleLinkSecondsDefault = 300;
const linkSecondsRule = 'must be 60 to 3600 seconds';

const createConsoleLinkBody = z
  .strictObject({
    scope,
    user: text('User of the session, shown in the audit log.').optional(),
    expiresInSeconds: z
      .int(linkSecondsRule)
      .min(60, linkSecondsRule)
      .max(3600, linkSecondsRule)
      .optional()
      .meta({ default: consoleLinkSecondsDefault, description: 'How long the link works.' }),
  })
  .meta({ id: 'CreateConsoleLink' });

const consoleLinkSchema = z
  .object({
    scope,
    user: stringOrNull,
    expiresAt: time.describe('When the link expires.'),
    link: z
      .string()
      .describe('The one-time link, returned once. Its secret never reaches a log or a Referer.'),
  })
  .meta({ id: 'ConsoleLink' });

const openConsoleBody = acceptBody.pick({ secret: true }).meta({ id: 'OpenConsole' });

const startDeviceBody = z
  .strictObject({ machine: text('User and machine, shown before the approval.').unwrap() })
  .meta({ id: 'StartDevice' });

const startedDeviceSchema = z
  .object({
    userCode: z.string().describe('Open `/#_device/CODE` to approve it. It expires after 10 minutes.'),
    token: z.string().describe("The secret. It's a valid token once a user approves the code."),
    expiresAt: time.describe('When the code expires.'),
    intervalSeconds: z.int().min(1).describe('Check `GET /v1/session` with the token this often.'),
  })
  .meta({ id: 'StartedDevice' });

const approveDeviceBody = z
  .strictObject({
    userCode: z.string().min(1, "can't be empty").max(40, 'must have at most 40 characters'),
    scope: scope.optional().describe("Scope of the token. Default: write, or your token's."),
    repos,
    user: text("User of the token. Default: your token's user.").optional(),
  })
  .refine(isForItsScope, scopeRule)
  .meta({ id: 'ApproveDevice', ...manageWithRepos });

const approvedDeviceSchema = z
  .object({
    machine: z.string(),
    tokenId: z.string(),
    scope,
    repos: namesOrNull.describe('null: all.'),
    user: stringOrNull,
    expiresAt: time.describe("When the token expires: after 90 days, or with your token if it isn't manage."),
    address: stringOrNull.describe('IP address that started the login. null: unknown.'),
  })
  .meta({ id: 'ApprovedDevice' });

export type InvitationBody = z.output<typeof invitationSchema>;

const invitation: InvitationBody = {
  invitationId: '3d1c0e5f2a4b6978',
  scope: 'write',
  repos: ['game'],
  user: 'ada',
  inviter: 'grace',
  expiresInSeconds: invitedSecondsDefault,
  createdAt: '2026-11-21T05:00:00Z',
  expiresAt: '2026-11-28T05:00:00Z',
};

/** Invitations by link, and command lines that a user of the tenant logs in. */
export const invitationContract = {
  'GET /v1/tenants/{tenant}/invitations': {
    id: 'listInvitations',
    summary: 'The open invitations, the oldest first',
    access: 'manager',
    answers: {
      200: answer(
        'All open ones, without their secrets. Up to 100.',
        z.object({ invitations: z.array(invitationSchema) }).meta({ id: 'Invitations' }),
        { invitations: [invitation] },
      ),
    },
  },
  'POST /v1/tenants/{tenant}/invitations': {
    id: 'createInvitation',
    summary: 'Invite someone by a one-time link',
    description:
      "The link works once, for 7 days. Accepting it creates the token. If you revoke its inviter's token or user, the link stops working.",
    ...managed('invitation.create'),
    body: { schema: createInvitationBody, example: { repos: ['game'], user: 'ada' } },
    answers: {
      201: answer('The invitation with its link, returned once.', newInvitationSchema, {
        ...invitation,
        link: 'https://lfs.example.com/#_join/acme.lfsi_…',
      }),
    },
    problems: ['invitations-full'],
  },
  'DELETE /v1/tenants/{tenant}/invitations/{invitationId}': {
    id: 'revokeInvitation',
    summary: 'Revoke an open invitation',
    access: 'manager',
    action: 'invitation.revoke',
    answers: { 204: { description: 'The link is invalid.' } },
    problems: ['invitation-not-found'],
  },
  'POST /v1/invitations/accept': {
    id: 'acceptInvitation',
    summary: 'Accept an invitation',
    description:
      'Creates the token. Works once. For 10 minutes, the same request with the same Idempotency-Key returns the same token. A wrong, used, expired or revoked secret always gets the same 404.',
    access: 'anyone',
    takesRequestKey: true,
    body: {
      schema: acceptBody,
      bytesMax: strangerBodyBytesMax,
      example: { secret: 'acme.lfsi_…', user: 'ada' },
    },
    answers: {
      201: answer('The token with its secret, returned once.', newTokenSchema, {
        tokenId: '5f0c1e2d3b4a5968',
        scope: 'write',
        label: 'invitation 3d1c0e5f2a4b6978',
        user: 'ada',
        repos: ['game'],
        createdAt: '2026-11-21T06:00:00Z',
        expiresAt: '2027-02-19T06:00:00Z',
        lastUsedAt: null,
        tenant: 'acme',
        token: 'lfsq_…',
      }),
    },
    problems: ['invitation-not-found', 'tenant-suspended'],
  },
  'POST /v1/tenants/{tenant}/console-links': {
    id: 'createConsoleLink',
    summary: 'Create a one-time link into the console',
    description:
      'For a button of your app. The first to open it is signed in, for up to 12 hours. To end that, revoke its token, which is labeled `console link …`.',
    access: 'admin',
    onlyOpen: true,
    action: 'console-link.create',
    body: { schema: createConsoleLinkBody, example: { scope: 'manage', user: 'ada' } },
    answers: {
      201: answer('The link.', consoleLinkSchema, {
        scope: 'manage',
        user: 'ada',
        expiresAt: '2026-11-21T05:05:00Z',
        link: 'https://lfs.example.com/#_open/acme.lfsi_…',
      }),
    },
    problems: ['invitations-full'],
  },
  'POST /v1/console-links/open': {
    id: 'openConsole',
    summary: 'Open the console by its one-time link',
    description:
      'Only for the console: it sets its session cookie. A wrong, used or expired link always gets the same 404.',
    access: 'anyone',
    body: { schema: openConsoleBody, bytesMax: strangerBodyBytesMax, example: { secret: 'acme.lfsi_…' } },
    answers: {
      200: answer('A session has started.', z.object({ tenant: z.string() }).meta({ id: 'OpenedConsole' }), {
        tenant: 'acme',
      }),
    },
    problems: ['link-not-found', 'tenant-suspended'],
  },
  'POST /v1/device': {
    id: 'startDevice',
    summary: 'Start logging in a command line',
    description:
      "Returns a code for the console, and the future token. The token isn't valid until a user approves the code. Up to 100 per address within 10 minutes.",
    access: 'anyone',
    body: { schema: startDeviceBody, bytesMax: strangerBodyBytesMax, example: { machine: 'ada on laptop' } },
    answers: {
      201: answer('The code and the future token.', startedDeviceSchema, {
        userCode: 'BCDF-GHJK',
        token: 'lfsq_…',
        expiresAt: '2026-11-21T05:10:00Z',
        intervalSeconds: 5,
      }),
    },
    problems: ['devices-full'],
  },
  'POST /v1/tenants/{tenant}/device': {
    id: 'approveDevice',
    summary: 'Log in a command line by its code',
    description:
      "Makes its future token valid, for 90 days. First show what `dryRun` returns, and ask whether the user is at that machine. After 5 wrong codes within 10 minutes, wait. Without the manage scope, you can approve up to 20 machines for yourself, with at most your token's rights, which are the default. They end with your token. Tokens of CI jobs, of Git host users and of machines approved like this can't.",
    access: 'reader',
    onlyOpen: true,
    action: 'device.approve',
    query: z.strictObject({ dryRun: flag().describe('Only show what would be approved.') }),
    body: { schema: approveDeviceBody, example: { userCode: 'BCDF-GHJK' } },
    answers: {
      200: answer('The machine and its token.', approvedDeviceSchema, {
        machine: 'ada on laptop',
        tokenId: '5f0c1e2d3b4a5968',
        scope: 'write',
        repos: null,
        user: 'ada',
        expiresAt: '2027-02-19T05:00:00Z',
        address: '203.0.113.7',
      }),
    },
    problems: ['scope-too-small', 'device-not-found', 'device-tries', 'devices-full'],
  },
} as const satisfies Contract;
