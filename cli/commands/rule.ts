import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type ExchangeRuleBody,
  exchangeRuleSchema,
  exchangeRulesSchema,
} from '../../lambda/api/contract/exchange.ts';
import { emptyShape } from '../api-client.ts';
import type { CliContext } from '../context.ts';
import {
  type ApiOptions,
  eachRepo,
  managerToken,
  openClient,
  parseLifetime,
  parseTenant,
  withApiOptions,
} from '../options.ts';
import { printAnswer } from '../print-answer.ts';
import { printable } from '../printable.ts';
import { renderTable } from '../table.ts';
import { type View, viewOf } from '../view.ts';
import { warnIfAbsent } from '../warn-if-absent.ts';

type Match = Readonly<Record<string, readonly string[]>>;

interface CreateOptions extends ApiOptions {
  readonly issuer: string;
  readonly match: Match;
  readonly scope: string;
  readonly repo?: readonly string[];
  /** Seconds. */
  readonly expires?: number;
}

/** `rule create|list|delete`. */
export function registerRule(program: Command, context: CliContext): void {
  const group = program
    .command('rule')
    .description('which CI jobs get tokens for their identity (docs/tokens.md)');
  registerCreate(group, context);
  registerList(group, context);
  registerDelete(group, context);
}

function registerCreate(group: Command, context: CliContext): void {
  withApiOptions(group.command('create'))
    .description('let CI jobs exchange their identity for a token')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .requiredOption('--issuer <url>', "who vouches for them: the claim 'iss', such as https://gitlab.com")
    .addOption(
      new Option('--match <claim=value>', 'a claim that they must have; may be repeated, also for one claim')
        .argParser(eachMatch)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--scope <scope>', 'read: clone and pull; write: also push')
        .choices(['read', 'write'])
        .makeOptionMandatory(),
    )
    .option('--repo <repo>', 'only for this repo; may be repeated (default: all of the tenant)', eachRepo)
    .option(
      '--expires <time>',
      'how long their tokens are valid, such as 30m or 2h (default: 1h)',
      parseLifetime,
    )
    .action(async (tenant: string, options: CreateOptions) => {
      const { issuer, match, scope, repo: repos, expires: ttlSeconds } = options;
      await printAnswer(context, options, {
        wanted: managerToken,
        method: 'POST',
        path: `/v1/tenants/${tenant}/exchange-rules`,
        body: { issuer, match, scope, repos, ttlSeconds },
        shape: exchangeRuleSchema,
        render: (body) => renderRules([body], viewOf(context)),
      });
      if (options.json) return;
      const client = openClient(options, context, managerToken);
      for (const repo of repos ?? []) await warnIfAbsent(client, context, { tenant, repo });
    });
}

function registerList(group: Command, context: CliContext): void {
  withApiOptions(group.command('list'))
    .description("list a tenant's rules")
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .action(async (tenant: string, options: ApiOptions) => {
      const answer = await openClient(options, context, managerToken).send({
        method: 'GET',
        path: `/v1/tenants/${tenant}/exchange-rules`,
        shape: exchangeRulesSchema,
      });
      if (options.json) return context.out(`${answer.text}\n`);
      const { rules, issuers } = answer.body;
      if (rules.length > 0) return context.out(renderRules(rules, viewOf(context)));
      context.out(
        `No rules: no CI job gets a token. Issuers of this stage: ${issuers.join(', ') || 'none'}.\n`,
      );
    });
}

function registerDelete(group: Command, context: CliContext): void {
  withApiOptions(group.command('delete'))
    .description('let these jobs get no more tokens; those that they have end by themselves')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<rule-id>', 'id of the rule, as `rule list` shows it', parseRuleId)
    .action(async (tenant: string, ruleId: string, options: ApiOptions) => {
      await openClient(options, context, managerToken).send({
        method: 'DELETE',
        path: `/v1/tenants/${tenant}/exchange-rules/${ruleId}`,
        shape: emptyShape,
      });
      context.out(options.json ? `${JSON.stringify({ tenant, ruleId })}\n` : `Deleted ${ruleId}.\n`);
    });
}

function renderRules(rules: readonly ExchangeRuleBody[], view: View): string {
  const rows = rules.map(({ ruleId, issuer, match, scope, repos, ttlSeconds }) => [
    ruleId,
    scope,
    repos?.join(', ') ?? 'all',
    `${Math.round(ttlSeconds / 60)} min`,
    new URL(issuer).host,
    Object.entries(match)
      .map(([claim, values]) => `${claim}=${values.join('|')}`)
      .join(' '),
  ]);
  const columns = [
    'id',
    'scope',
    { name: 'repos', wraps: true },
    'valid',
    { name: 'issuer', least: 12 },
    { name: 'jobs with', wraps: true },
  ];
  const warnings = rules.flatMap(({ ruleId, warning }) =>
    warning === null ? [] : [`Replace ${ruleId}: it ${printable(warning)}.\n`],
  );
  return [renderTable(columns, rows, view), ...warnings].join('');
}

function eachMatch(text: string, before: Match = {}): Match {
  const [, claim = '', value = ''] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (value === '') throw new InvalidArgumentError('Give CLAIM=VALUE, such as repository_id=123456789.');
  return { ...before, [claim]: [...(before[claim] ?? []), value] };
}

function parseRuleId(text: string): string {
  if (!/^[0-9a-f]{16}$/.test(text))
    throw new InvalidArgumentError('List the ids with `lfs-quota rule list TENANT`.');
  return text;
}
