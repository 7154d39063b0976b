import { InvalidArgumentError } from 'commander';
import type { BodyOf } from '../../api-client.ts';
import { least, tableOf, wraps } from '../../columns.ts';
import {
  type CliSubject,
  choice,
  group,
  operand,
  option,
  required,
  routeCommand,
  tenantOperand,
} from '../../command.ts';
import { later } from '../../errors.ts';
import { eachRepo, matching, parseLifetime } from '../../options.ts';
import type { View } from '../../terminal.ts';
import { warnIfAbsent } from '../../warn-if-absent.ts';

type Match = Record<string, string[]>;

type Rule = BodyOf<'createExchangeRule'>;

const rulesTable = tableOf<Rule>([
  ['id', ({ ruleId }) => ruleId],
  ['scope', ({ scope }) => scope],
  ['repos', ({ repos }) => repos?.join(', ') ?? 'all', wraps],
  ['valid', ({ ttlSeconds }) => `${Math.round(ttlSeconds / 60)} min`],
  ['issuer', ({ issuer }) => (URL.canParse(issuer) ? new URL(issuer).host : issuer), least(12)],
  ['jobs with', ({ match }) => matchText(match), wraps],
]);

function renderRules(rules: readonly Rule[], view: View): string {
  const warnings = rules.flatMap(({ ruleId, warning }) =>
    warning === null ? [] : [`Replace ${ruleId}: it ${warning}.\n`],
  );
  return [rulesTable(rules, view), ...warnings].join('');
}

const matchText = (match: Match) =>
  Object.entries(match)
    .map(([claim, values]) => `${claim}=${values.join('|')}`)
    .join(' ');

const ruleId = matching(/^[0-9a-f]{16}$/, 'List them: lfs-quota rule list TENANT');

const ruleCommands = group('rule', 'Let CI jobs log in without a stored secret', [
  routeCommand({
    name: 'create',
    description: 'Let CI jobs log in with their identity',
    route: 'createExchangeRule',
    operands: { tenant: tenantOperand },
    options: {
      issuer: required(option('--issuer <url>', "the claim 'iss', such as https://gitlab.com")),
      match: required(
        option('--match <claim=value>', 'required claim; repeatable, also for one claim', eachMatch),
      ),
      scope: required(
        choice('--scope <scope>', 'read: pull; write: also push; gc: also gc', ['read', 'write', 'gc']),
      ),
      repo: option('--repo <repo>', 'only for this repo; repeatable (default: all)', eachRepo),
      expires: option(
        '--expires <time>',
        'lifetime of their tokens, such as 30m or 2h (default: 1h)',
        parseLifetime,
      ),
    },
    body: ({ options: { issuer, match, scope, repo: repos, expires: ttlSeconds } }) => ({
      issuer,
      match,
      scope,
      repos,
      ttlSeconds,
    }),
    print: (body, { view }) => renderRules([body], view),
    after: async (client, { operands: { tenant }, options, context }) => {
      if (options.json) return;
      for (const repo of options.repo ?? []) await warnIfAbsent(client, context, { tenant, repo });
    },
  }),
  routeCommand({
    name: 'list',
    description: "List a tenant's rules",
    route: 'listExchangeRules',
    operands: { tenant: tenantOperand },
    print: ({ rules, issuers }, { view }) =>
      rules.length > 0
        ? renderRules(rules, view)
        : `No rules yet: CI jobs can't get tokens. Accepted issuers: ${issuers.join(', ') || 'none'}.\n`,
  }),
  routeCommand({
    name: 'delete',
    description: 'Delete a rule; its tokens stop working',
    route: 'deleteExchangeRule',
    operands: {
      tenant: tenantOperand,
      ruleId: operand('<rule-id>', 'id of the rule, as `rule list` shows it', ruleId),
    },
    print: (_, { operands }) => `Deleted ${operands.ruleId}.\n`,
  }),
]);

function eachMatch(text: string, before: Match | undefined): Match {
  const [, claim = '', value = ''] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (value === '') throw new InvalidArgumentError('Use CLAIM=VALUE, such as repository_id=123456789.');
  return { ...before, [claim]: [...(before?.[claim] ?? []), value] };
}

const github = 'https://token.actions.githubusercontent.com';

export const ci: CliSubject = {
  commands: { 350: ruleCommands },
  examples: {
    'rule create': [
      [
        `lfs-quota rule create acme --issuer ${github} --match repository_id=123456789 --match ref=refs/heads/main --scope write --repo game`,
        'jobs of the main branch of one repository on GitHub; its number: gh api repos/acme/game --jq .id',
      ],
      [
        'lfs-quota rule create acme --issuer https://gitlab.com --match project_id=123456789 --match ref=main --scope read --expires 2h',
      ],
    ],
    'rule list': [['lfs-quota rule list acme']],
    'rule delete': [['lfs-quota rule delete acme 9c1f0a7be2d34856']],
  },
  hints: {
    'rule-not-found': 'List them: lfs-quota rule list TENANT',
    'rules-full': 'Delete one first: `lfs-quota rule delete TENANT RULE`.',
    'issuer-unavailable': later,
  },
};
