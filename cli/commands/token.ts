import { type Command, Option } from 'commander';
import { newTokenSchema, tokenPageSchema } from '../../lambda/http/management/tokens/schemas.ts';
import { emptyShape } from '../api-client.ts';
import type { CliContext } from '../context.ts';
import { type ListOptions, listPages, withListOptions } from '../list-pages.ts';
import { type ApiOptions, openClient, parseTenant, parseTokenId, withApiOptions } from '../options.ts';
import { formatAge, renderTable } from '../render.ts';

/** `token create|list|revoke`. */
export function registerToken(program: Command, context: CliContext): void {
  const group = program.command('token').description("create, list and revoke a tenant's access tokens");
  registerCreate(group, context);
  registerList(group, context);
  registerRevoke(group, context);
}

function registerCreate(group: Command, context: CliContext): void {
  withApiOptions(group.command('create'))
    .description('create a token; it is shown only once')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .addOption(
      new Option('--scope <scope>', 'read: clone and pull; write: also push')
        .choices(['read', 'write'])
        .makeOptionMandatory(),
    )
    .option('--label <text>', 'note that says what the token is for')
    .action(async (tenant: string, options: ApiOptions & { scope: string; label?: string }) => {
      const answer = await openClient(options, context).send({
        method: 'POST',
        path: `/v1/tenants/${tenant}/tokens`,
        body: { scope: options.scope, ...(options.label === undefined ? {} : { label: options.label }) },
        shape: newTokenSchema,
      });
      if (options.json) return context.out(`${answer.text}\n`);
      const { token, tokenId, scope } = answer.body;
      context.out(`token  ${token}\nid     ${tokenId}\nscope  ${scope}\n`);
      context.err('Keep the token: it is not shown again. In git it is the password, with any user name.\n');
    });
}

function registerList(group: Command, context: CliContext): void {
  withListOptions(group.command('list'))
    .description("list a tenant's tokens, without their secrets; with --json one page of them")
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .action(async (tenant: string, options: ListOptions) => {
      const path = `/v1/tenants/${tenant}/tokens`;
      const client = openClient(options, context);
      const { pages, text } = await listPages(client, { path, shape: tokenPageSchema, options });
      if (options.json) return context.out(`${text}\n`);
      const tokens = pages.flatMap((page) => page.tokens);
      if (tokens.length === 0) {
        return context.out(
          `No tokens. Create one: ${context.program} token create ${tenant} --scope write\n`,
        );
      }
      const rows = tokens.map((token) => [
        token.tokenId,
        token.scope,
        formatAge(token.createdAt, context.nowMs()),
        token.label ?? '-',
      ]);
      context.out(renderTable(['id', 'scope', 'created', 'label'], rows));
    });
}

function registerRevoke(group: Command, context: CliContext): void {
  withApiOptions(group.command('revoke'))
    .description('revoke a token immediately')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<token-id>', 'id of the token, as `token list` shows it', parseTokenId)
    .action(async (tenant: string, tokenId: string, options: ApiOptions) => {
      const answer = await openClient(options, context).send({
        method: 'DELETE',
        path: `/v1/tenants/${tenant}/tokens/${tokenId}`,
        shape: emptyShape,
      });
      if (options.json) return context.out(answer.text === '' ? '' : `${answer.text}\n`);
      context.out(`Revoked ${tokenId}.\n`);
    });
}
