import { type Command, Option } from 'commander';
import {
  newTokenSchema,
  type TokenBody,
  tokenPageSchema,
  tokenSchema,
} from '../../lambda/api/contract/tokens.ts';
import { emptyShape } from '../api-client.ts';
import type { CliContext } from '../context.ts';
import { type ListOptions, printList, withListOptions } from '../list-pages.ts';
import {
  type ApiOptions,
  eachRepo,
  managerToken,
  openClient,
  parseLifetime,
  parseTenant,
  parseTokenId,
  withApiOptions,
} from '../options.ts';
import { printAnswer } from '../print-answer.ts';
import { printable } from '../printable.ts';
import { formatAge, formatUntil } from '../render.ts';
import { renderTable } from '../table.ts';
import { type View, viewOf } from '../view.ts';
import { warnIfAbsent } from '../warn-if-absent.ts';

/** `token create|list|show|revoke`. */
export function registerToken(program: Command, context: CliContext): void {
  const group = program.command('token').description("create, list and revoke a tenant's access tokens");
  registerCreate(group, context);
  registerList(group, context);
  registerShow(group, context);
  registerRevoke(group, context);
}

interface CreateOptions extends ApiOptions {
  readonly scope: string;
  readonly label?: string;
  readonly user?: string;
  readonly repo?: readonly string[];
  /** Seconds. */
  readonly expires?: number;
}

function registerCreate(group: Command, context: CliContext): void {
  withApiOptions(group.command('create'))
    .description('create a token; it is shown only once')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .addOption(
      new Option(
        '--scope <scope>',
        'read: clone and pull; write: also push; manage: also tokens, deletes and recounts',
      )
        .choices(['read', 'write', 'manage'])
        .makeOptionMandatory(),
    )
    .option('--label <text>', 'note that says what the token is for')
    .option('--user <name>', 'whom it stands for: the owner of its locks')
    .option('--repo <repo>', 'only for this repo; may be repeated (default: all of the tenant)', eachRepo)
    .option(
      '--expires <time>',
      'how long it is valid, such as 90d, 12h or 30m (default: for ever)',
      parseLifetime,
    )
    .action(async (tenant: string, options: CreateOptions) => {
      const { scope, label, user, repo: repos, expires: expiresInSeconds } = options;
      const client = openClient(options, context, managerToken);
      const answer = await client.send({
        method: 'POST',
        path: `/v1/tenants/${tenant}/tokens`,
        body: { scope, label, user, repos, expiresInSeconds },
        shape: newTokenSchema,
      });
      if (options.json) return context.out(`${answer.text}\n`);
      const { token, tokenId, expiresAt, ...made } = answer.body;
      context.out(
        [
          `token  ${token}`,
          `id     ${tokenId}`,
          `scope  ${made.scope}`,
          ...(made.user === null ? [] : [`user   ${printable(made.user)}`]),
          ...(made.repos === null ? [] : [`repos  ${made.repos.join(', ')}`]),
          ...(expiresAt === null
            ? []
            : [`ends   ${formatUntil(expiresAt, context.nowMs())}, at ${expiresAt}`]),
          '',
        ].join('\n'),
      );
      context.err('Keep the token: it is not shown again. In git it is the password, with any user name.\n');
      for (const repo of made.repos ?? []) await warnIfAbsent(client, context, { tenant, repo });
    });
}

function registerList(group: Command, context: CliContext): void {
  withListOptions(group.command('list'))
    .description("list a tenant's tokens, without their secrets")
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .action(async (tenant: string, options: ListOptions) => {
      await printList(context, openClient(options, context, managerToken), {
        path: `/v1/tenants/${tenant}/tokens`,
        shape: tokenPageSchema,
        items: 'tokens',
        options,
        render: (pages) => {
          const tokens = pages.flatMap((page) => page.tokens);
          return tokens.length === 0
            ? `No tokens. Create one: ${context.program} token create ${tenant} --scope write\n`
            : renderTokens(tokens, viewOf(context));
        },
      });
    });
}

function registerShow(group: Command, context: CliContext): void {
  withApiOptions(group.command('show'))
    .description('show one token, without its secret')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<token-id>', 'id of the token, as `token list` shows it', parseTokenId)
    .action(async (tenant: string, tokenId: string, options: ApiOptions) => {
      await printAnswer(context, options, {
        wanted: managerToken,
        method: 'GET',
        path: `/v1/tenants/${tenant}/tokens/${tokenId}`,
        shape: tokenSchema,
        render: (body) => renderToken(body, viewOf(context)),
      });
    });
}

function renderTokens(tokens: readonly TokenBody[], view: View): string {
  const { nowMs } = view;
  const rows = tokens.map((token) => [
    token.tokenId,
    token.scope,
    token.user ?? '-',
    token.repos?.join(', ') ?? 'all',
    token.lastUsedAt === null ? 'never' : formatAge(token.lastUsedAt, nowMs),
    expiryOf(token, nowMs),
    token.label ?? '-',
  ]);
  const columns = [
    'id',
    'scope',
    { name: 'user', least: 10 },
    { name: 'repos', wraps: true },
    'used',
    'expires',
    { name: 'label', least: 12, wraps: true },
  ];
  return renderTable(columns, rows, view);
}

function renderToken(token: TokenBody, { nowMs }: View): string {
  const { createdAt, lastUsedAt } = token;
  return [
    `id       ${token.tokenId}`,
    `scope    ${token.scope}`,
    `user     ${printable(token.user ?? '-')}`,
    `repos    ${token.repos?.join(', ') ?? 'all'}`,
    `label    ${printable(token.label ?? '-')}`,
    `created  ${formatAge(createdAt, nowMs)}, at ${createdAt}`,
    `used     ${lastUsedAt === null ? 'never' : formatAge(lastUsedAt, nowMs)}`,
    `expires  ${expiryOf(token, nowMs)}`,
    '',
  ].join('\n');
}

function expiryOf({ expiresAt }: TokenBody, nowMs: number): string {
  if (expiresAt === null) return 'never';
  return Date.parse(expiresAt) <= nowMs ? 'expired' : formatUntil(expiresAt, nowMs);
}

function registerRevoke(group: Command, context: CliContext): void {
  withApiOptions(group.command('revoke'))
    .description('revoke a token immediately')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<token-id>', 'id of the token, as `token list` shows it', parseTokenId)
    .action(async (tenant: string, tokenId: string, options: ApiOptions) => {
      await openClient(options, context, managerToken).send({
        method: 'DELETE',
        path: `/v1/tenants/${tenant}/tokens/${tokenId}`,
        shape: emptyShape,
      });
      context.out(options.json ? `${JSON.stringify({ tenant, tokenId })}\n` : `Revoked ${tokenId}.\n`);
    });
}
