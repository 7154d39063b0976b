import { InvalidArgumentError } from 'commander';
import { grantScopes, tokenIdOf } from '../../lambda/frame/access/rules/tokens.ts';
import type { BodyOf } from '../api-client.ts';
import { least, tableOf, wraps } from '../columns.ts';
import {
  choice,
  group,
  listCommand,
  operand,
  option,
  required,
  routeCommand,
  tenantOperand,
} from '../command.ts';
import { UsageError } from '../errors.ts';
import { eachRepo, parseLifetime } from '../options.ts';
import { formatAge, formatUntil } from '../render.ts';
import type { View } from '../terminal.ts';
import { warnIfAbsent } from '../warn-if-absent.ts';

type TokenBody = BodyOf<'getToken'>;

const ofToken = {
  tenant: tenantOperand,
  tokenId: operand('<token-id>', 'id of the token, as `token list` shows it', parseTokenId),
};

export const tokenCommands = group('token', 'Create, list or revoke access tokens', [
  routeCommand({
    name: 'create',
    description: "Create a token; it's shown once",
    route: 'createToken',
    operands: { tenant: tenantOperand },
    options: {
      scope: required(
        choice(
          '--scope <scope>',
          'read: pull; write: also push; gc: also gc; manage: also tokens and deletes',
          grantScopes,
        ),
      ),
      label: option('--label <text>', 'purpose of the token'),
      user: option('--user <name>', 'its user, the owner of its locks'),
      repo: option('--repo <repo>', 'only for this repo; repeatable (default: all)', eachRepo),
      prefix: option('--prefix <prefix>', 'only for files that start with this, such as uploads/7/'),
      expires: option(
        '--expires <time>',
        'lifetime, such as 90d, 12h or 30m (default: never expires)',
        parseLifetime,
      ),
    },
    body: ({ options: { scope, label, user, repo: repos, prefix, expires: expiresInSeconds } }) => ({
      scope,
      label,
      user,
      repos,
      prefix,
      expiresInSeconds,
    }),
    print: renderNew,
    after: async (client, { body, operands: { tenant }, options, context }) => {
      if (options.json) return;
      context.err(
        "Copy the token now: you won't see it again. In Git, it's the password, with any username.\n",
      );
      for (const repo of body.repos ?? []) await warnIfAbsent(client, context, { tenant, repo });
    },
  }),
  listCommand({
    name: 'list',
    description: "List a tenant's tokens, without their secrets",
    route: 'listTokens',
    operands: { tenant: tenantOperand },
    items: 'tokens',
    none: ({ operands, context }) =>
      `No tokens. Create one: ${context.program} token create ${operands.tenant} --scope write\n`,
    print: tableOf<TokenBody>([
      ['id', ({ tokenId }) => tokenId],
      ['scope', ({ scope }) => scope],
      ['user', ({ user }) => user ?? '-', least(10)],
      ['repos', reachOf, wraps],
      ['used', ({ lastUsedAt }, { nowMs }) => (lastUsedAt === null ? 'never' : formatAge(lastUsedAt, nowMs))],
      ['expires', (token, { nowMs }) => expiryOf(token, nowMs)],
      ['label', ({ label }) => label ?? '-', { least: 12, wraps: true }],
    ]),
  }),
  routeCommand({
    name: 'show',
    description: 'Show one token, without its secret',
    route: 'getToken',
    operands: ofToken,
    print: (body, { view }) => renderToken(body, view),
  }),
  routeCommand({
    name: 'revoke',
    description: 'Revoke a token immediately',
    route: 'revokeToken',
    operands: ofToken,
    print: (_, { operands }) => `Revoked ${operands.tokenId}.\n`,
  }),
]);

function renderNew(body: BodyOf<'createToken'>, { view }: { view: View }): string {
  const { token, tokenId, expiresAt, ...made } = body;
  return [
    `token  ${token}`,
    `id     ${tokenId}`,
    `scope  ${made.scope}`,
    ...(made.user === null ? [] : [`user   ${made.user}`]),
    ...(made.repos === null && made.prefix === undefined ? [] : [`repos  ${reachOf(made)}`]),
    ...(expiresAt === null ? [] : [`ends   ${formatUntil(expiresAt, view.nowMs)}, at ${expiresAt}`]),
    '',
  ].join('\n');
}

function renderToken(token: TokenBody, { nowMs }: View): string {
  const { createdAt, lastUsedAt } = token;
  return [
    `id       ${token.tokenId}`,
    `scope    ${token.scope}`,
    `user     ${token.user ?? '-'}`,
    `repos    ${reachOf(token)}`,
    `label    ${token.label ?? '-'}`,
    `created  ${formatAge(createdAt, nowMs)}, at ${createdAt}`,
    `used     ${lastUsedAt === null ? 'never' : formatAge(lastUsedAt, nowMs)}`,
    `expires  ${expiryOf(token, nowMs)}`,
    '',
  ].join('\n');
}

/** What a token is for. */
function reachOf({ repos, prefix }: Pick<TokenBody, 'repos' | 'prefix'>): string {
  return `${repos?.join(', ') ?? 'all'}${prefix === undefined ? '' : `, files ${prefix}…`}`;
}

function expiryOf({ expiresAt }: TokenBody, nowMs: number): string {
  if (expiresAt === null) return 'never';
  return Date.parse(expiresAt) <= nowMs ? 'expired' : formatUntil(expiresAt, nowMs);
}

/** A token's id as `token list` shows it. For a pasted secret, the error has its id. */
function parseTokenId(text: string): string {
  if (text.startsWith('lfsq_'))
    throw new UsageError(`That's a token's secret. Use its id: ${tokenIdOf(text)}`);
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(text)) {
    throw new InvalidArgumentError(
      "Use the token's id, not its secret. List them: lfs-quota token list TENANT",
    );
  }
  return text;
}
