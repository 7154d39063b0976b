import * as z from 'zod';
import { answer, type Contract, managed } from '../../frame/contract/contract.ts';
import {
  names,
  namesOrNull,
  scope,
  stringOrNull,
  text,
  time,
  timeOrNull,
} from '../../frame/contract/fields.ts';

const host = z.string().max(20).describe('The id of a Git host.');
const organizationId = z
  .string()
  .regex(/^[1-9]\d{0,17}$/, "must be the organization's number")
  .describe("The organization's number at its host. Names can be registered again, numbers can't.");

const allowBody = z
  .strictObject({
    host,
    organizationId,
    name: text('Its name, to be shown. Ignored if the Git host knows it.').optional(),
    owners: scope.nullable().optional().meta({
      default: 'manage',
      description: "Rights of the organization's owners. null: none.",
    }),
    members: scope.nullable().optional().meta({
      default: 'read',
      description:
        'Rights of its members. `read`: they can also push to the linked repos that they can push to at the host. null: none.',
    }),
    collaborators: z.boolean().optional().meta({
      default: false,
      description:
        'Whether users outside the organization can sign in, for the linked repos that they can use at the host.',
    }),
  })
  .meta({ id: 'AllowOrganization' });

const organizationSchema = z
  .object({
    host: z.string(),
    organizationId: z.string(),
    name: z.string(),
    owners: scope.nullable(),
    members: scope.nullable(),
    collaborators: z.boolean(),
    since: time,
  })
  .meta({ id: 'AllowedOrganization' });

const userSchema = z
  .object({
    userId: z.string().describe('Identifies them in this list.'),
    hostUser: z.string().describe('Their host and number, as in the audit log: `github:1234`.'),
    user: stringOrNull.describe('Their login.'),
    scope,
    repos: namesOrNull.describe('null: all.'),
    writeRepos: names.describe('Repos that they can push to in addition.'),
    role: z.enum(['owner', 'member', 'collaborator']),
    organizationId: z.string().describe('The organization that lets them in.'),
    signedInAt: time,
    expiresAt: time,
    lastUsedAt: timeOrNull,
  })
  .meta({ id: 'SignedInUser' });

const usersSchema = z
  .object({
    organizations: z.array(organizationSchema),
    users: z.array(userSchema).describe('Who is signed in by a Git host.'),
    yours: z
      .array(z.object({ host: z.string(), organizationId: z.string(), name: z.string() }))
      .describe('Organizations that you are in and can allow. The operator can allow any.'),
    gitHosts: names.describe('Ids of the Git hosts of this server: `gitHost.host` of a linked repo.'),
  })
  .meta({ id: 'Users' });

export type OrganizationBody = z.output<typeof organizationSchema>;
export type SignedInUserBody = z.output<typeof userSchema>;

const organization: OrganizationBody = {
  host: 'github',
  organizationId: '9919',
  name: 'acme-games',
  owners: 'manage',
  members: 'read',
  collaborators: false,
  since: '2026-11-21T05:00:00Z',
};

/** Who signs in to a tenant by a git host. */
export const userContract = {
  'GET /v1/tenants/{tenant}/users': {
    id: 'listUsers',
    summary: 'Users who sign in with a Git host',
    access: 'manager',
    answers: {
      200: answer('The allowed organizations, and the users who are signed in.', usersSchema, {
        organizations: [organization],
        users: [
          {
            userId: '5f0c1e2d3b4a5968',
            hostUser: 'github:1234',
            user: 'ada',
            scope: 'read',
            repos: null,
            writeRepos: ['game'],
            role: 'member',
            organizationId: '9919',
            signedInAt: '2026-11-21T05:00:00Z',
            expiresAt: '2026-11-21T13:00:00Z',
            lastUsedAt: null,
          },
        ],
        yours: [{ host: 'github', organizationId: '9919', name: 'acme-games' }],
        gitHosts: ['github'],
      }),
    },
  },
  'DELETE /v1/tenants/{tenant}/users/{userId}': {
    id: 'endUser',
    summary: "End a user's sessions immediately",
    description: 'They can sign in again while their organization is allowed.',
    access: 'manager',
    action: 'user.end',
    answers: { 204: { description: 'Their sessions have ended.' } },
    problems: ['user-not-found'],
  },
  'PUT /v1/tenants/{tenant}/organizations': {
    id: 'allowOrganization',
    summary: 'Allow an organization, or change what it can do',
    description:
      'You must be in it: sign in with its host within the last hour. The operator can allow any. A change signs its users out.',
    ...managed('organization.allow'),
    body: { schema: allowBody, example: { host: 'github', organizationId: '9919', members: 'read' } },
    answers: { 200: answer('What is allowed now.', organizationSchema, organization) },
    problems: ['organization-not-yours', 'organizations-full'],
  },
  'DELETE /v1/tenants/{tenant}/organizations': {
    id: 'removeOrganization',
    summary: 'Stop allowing an organization',
    description: 'Its users are signed out immediately.',
    access: 'manager',
    action: 'organization.remove',
    query: z.strictObject({ host, organizationId }),
    answers: { 204: { description: "It isn't allowed any more." } },
    problems: ['organization-not-found'],
  },
} as const satisfies Contract;
