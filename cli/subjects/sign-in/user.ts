import { tokenScopes } from '../../../lambda/frame/access/rules/tokens.ts';
import type { BodyOf } from '../../api-client.ts';
import { tableOf, wraps } from '../../columns.ts';
import {
  type CliSubject,
  choice,
  flag,
  group,
  operand,
  option,
  routeCommand,
  tenantOperand,
} from '../../command.ts';
import { matching } from '../../options.ts';
import { formatUntil } from '../../render.ts';

const organizationOperands = {
  tenant: tenantOperand,
  host: operand('<host>', 'id of a Git host of the server, such as github'),
  organizationId: operand(
    '<organization-number>',
    'number of the organization there',
    matching(/^[1-9]\d{0,17}$/, 'Use its number. GitHub: https://api.github.com/orgs/NAME shows it as id.'),
  ),
};

const rights = [...tokenScopes, 'none'] as const;
const scopeOf = (right: (typeof rights)[number] | undefined) => (right === 'none' ? null : right);

const organizationsTable = tableOf<BodyOf<'listUsers'>['organizations'][number]>([
  ['host', ({ host }) => host],
  ['number', ({ organizationId }) => organizationId],
  ['name', ({ name }) => name],
  ['owners', ({ owners }) => owners ?? 'none'],
  ['members', ({ members }) => members ?? 'none'],
  ['collaborators', ({ collaborators }) => (collaborators ? 'linked repos' : 'none')],
]);
const usersTable = tableOf<BodyOf<'listUsers'>['users'][number]>([
  ['id', ({ userId }) => userId],
  ['user', ({ user }) => user ?? ''],
  ['host user', ({ hostUser }) => hostUser],
  ['scope', ({ scope }) => scope],
  ['repos', ({ repos }) => repos?.join(', ') ?? 'all', wraps],
  ['role', ({ role }) => role],
  ['until', ({ expiresAt }, { nowMs }) => formatUntil(expiresAt, nowMs)],
]);

const userCommands = group('user', 'Let users of your Git host sign in to the console', [
  routeCommand({
    name: 'list',
    description: 'List allowed organizations and signed-in users',
    route: 'listUsers',
    operands: { tenant: tenantOperand },
    print: ({ organizations, users }, { view }) => {
      if (organizations.length === 0) return 'No organization is allowed yet: lfs-quota user allow --help\n';
      const signedIn = users.length > 0 ? `\n${usersTable(users, view)}` : '';
      return organizationsTable(organizations, view) + signedIn;
    },
  }),
  routeCommand({
    name: 'allow',
    description: 'Let an organization sign in, or change its rights',
    route: 'allowOrganization',
    operands: organizationOperands,
    options: {
      owners: choice('--owners <scope>', 'rights of its owners (default: manage)', rights),
      members: choice('--members <scope>', 'rights of its members (default: read)', rights),
      collaborators: flag('--collaborators', 'also users outside of it, for linked repos they can use'),
      name: option('--name <name>', 'its name, to be shown'),
    },
    body: ({ operands: { host, organizationId }, options: { owners, members, collaborators, name } }) => ({
      host,
      organizationId,
      name,
      owners: scopeOf(owners),
      members: scopeOf(members),
      collaborators,
    }),
    print: ({ host, organizationId, owners, members }) =>
      `${host} ${organizationId} can sign in. Owners: ${owners ?? 'none'}. Members: ${members ?? 'none'}.\n`,
  }),
  routeCommand({
    name: 'remove',
    description: 'Stop letting an organization sign in; its users are signed out',
    route: 'removeOrganization',
    operands: organizationOperands,
    query: ({ operands: { host, organizationId } }) => ({ host, organizationId }),
    print: (_, { operands: { host, organizationId } }) => `Removed ${host} ${organizationId}.\n`,
  }),
  routeCommand({
    name: 'end',
    description: "End a user's sessions",
    route: 'endUser',
    operands: {
      tenant: tenantOperand,
      userId: operand(
        '<user-id>',
        'id of the user, as `user list` shows it',
        matching(/^[0-9a-f]{16}$/, 'List them: lfs-quota user list TENANT'),
      ),
    },
    print: (_, { operands }) => `Ended the sessions of ${operands.userId}.\n`,
  }),
]);

export const signIn: CliSubject = {
  commands: { 340: userCommands },
  examples: {
    'user list': [['lfs-quota user list acme']],
    'user allow': [
      [
        'lfs-quota user allow acme github 9919',
        'owners manage, members read; its number: gh api orgs/acme --jq .id',
      ],
      ['lfs-quota user allow acme github 9919 --members write --collaborators'],
    ],
    'user remove': [['lfs-quota user remove acme github 9919']],
    'user end': [['lfs-quota user end acme 5f0c1e2d3b4a5968']],
  },
};
