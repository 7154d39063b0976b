import type { BodyOf } from '../../api-client.ts';
import { tableOf } from '../../columns.ts';
import {
  actionCommand,
  type CliSubject,
  flag,
  group,
  operand,
  routeCommand,
  tenantOperand,
} from '../../command.ts';
import { later, UsageError } from '../../errors.ts';
import { managerToken } from '../../options.ts';
import { formatAge, formatUntil } from '../../render.ts';
import { viewOf } from '../../terminal.ts';

const isAddress = (target: string) => target.includes('@') && !target.includes('://');

const alertCommands = group('alert', 'Send alerts to an e-mail address or a URL', [
  actionCommand({
    name: 'add',
    description: 'Send alerts to an e-mail address or a URL; a new URL replaces the last one',
    operands: {
      tenant: tenantOperand,
      target: operand(
        '<target>',
        'an address, or https on port 443, such as https://hooks.example.com/lfs-quota',
      ),
    },
    options: {
      newSecret: flag(
        '--new-secret',
        "create a new secret of the URL's; the old one also signs for 24 hours",
      ),
    },
    wanted: managerToken,
    run: async (client, { operands: { tenant, target }, options: { newSecret, json }, context }) => {
      const params = { tenant };
      if (isAddress(target)) {
        if (newSecret) throw new UsageError('An address has no secret. Use --new-secret with a URL.');
        const { body, text } = await client.ask('addEmail', { params, body: { address: target } });
        return context.out(json ? `${text}\n` : addedText(body));
      }
      const { body, text } = await client.ask('setWebhook', { params, body: { url: target, newSecret } });
      const { secret, ...webhook } = body;
      if (json) return context.out(`${text}\n`);
      if (secret === null) return context.out(renderWebhook(webhook, context.nowMs()));
      context.err(
        "Copy this secret now: you won't see it again. Your receiver verifies signatures with it.\n",
      );
      context.out(`${secret}\n`);
    },
  }),
  actionCommand({
    name: 'list',
    description: 'List who gets alerts, and the last delivery to the URL',
    operands: { tenant: tenantOperand },
    wanted: managerToken,
    run: async (client, { operands: params, options, context }) => {
      const webhook = (await client.find('getWebhook', { params })) ?? null;
      const { emails } = (await client.ask('listEmails', { params })).body;
      if (options.json) return context.out(`${JSON.stringify({ webhook, emails })}\n`);
      if (webhook) context.out(renderWebhook(webhook, context.nowMs()));
      if (webhook && emails.length > 0) context.out('\n');
      if (emails.length > 0) context.out(emailTable(emails, viewOf(context)));
      if (!webhook && emails.length === 0)
        context.out(
          `No address and no URL. Add one: ${context.program} alert add ${params.tenant} ada@example.com\n`,
        );
    },
  }),
  actionCommand({
    name: 'remove',
    description: 'Stop alerts to an e-mail address or the URL',
    operands: { tenant: tenantOperand, target: operand('<target>', 'an address, or webhook for the URL') },
    wanted: managerToken,
    run: async (client, { operands: { tenant, target }, options, context }) => {
      const params = { tenant };
      if (!isAddress(target) && target !== 'webhook')
        throw new UsageError(`Pass an address, or for the URL: lfs-quota alert remove ${tenant} webhook`);
      if (isAddress(target)) await client.ask('removeEmail', { params, query: { address: target } });
      else await client.ask('deleteWebhook', { params });
      context.out(options.json ? `${JSON.stringify({ tenant, target })}\n` : `${target} is removed.\n`);
    },
  }),
  routeCommand({
    name: 'test',
    description: 'Send a test event to the URL, once',
    route: 'testWebhook',
    operands: { tenant: tenantOperand },
    print: ({ eventId }, { context, operands }) =>
      `Sending ${eventId}. See the result: ${context.program} alert list ${operands.tenant}\n`,
  }),
]);

const emailTable = tableOf<BodyOf<'listEmails'>['emails'][number]>([
  ['address', ({ address }) => address],
  ['added', ({ addedAt }, { nowMs }) => formatAge(addedAt, nowMs)],
  ['alerts', stateOf],
]);

function stateOf({ confirmedAt, ended }: BodyOf<'listEmails'>['emails'][number]): string {
  if (ended !== null) return `ended: ${ended}`;
  return confirmedAt === null ? 'not confirmed' : 'yes';
}

const addedText = ({ address, confirmedAt }: BodyOf<'addEmail'>) =>
  confirmedAt === null
    ? `Sending a link to ${address}. It gets alerts once that's confirmed, within 48 hours.\n`
    : `${address} gets alerts already.\n`;

function renderWebhook({ url, secretChangedAt, last }: BodyOf<'getWebhook'>, nowMs: number): string {
  return [
    `url     ${url}`,
    `secret  since ${secretChangedAt}`,
    `last    ${last === null ? 'nothing was sent yet' : lastText(last, nowMs)}`,
    '',
  ].join('\n');
}

function lastText(last: NonNullable<BodyOf<'getWebhook'>['last']>, nowMs: number): string {
  const { eventId, type, at, attempt, outcome, status, failure, nextAt } = last;
  const event = `${type} ${eventId}, attempt ${attempt}, ${formatAge(at, nowMs)}`;
  if (outcome === 'delivered') return `${event}: delivered (${status})`;
  const why = status === null ? (failure ?? 'no response').replaceAll('-', ' ') : `answered ${status}`;
  const next = nextAt === null ? 'no more retries' : `again ${formatUntil(nextAt, nowMs)}`;
  return `${event}: ${why}, ${next}`;
}

export const alerts: CliSubject = {
  commands: { 360: alertCommands },
  oldNames: {
    'webhook set': 'alert add',
    'webhook show': 'alert list',
    'webhook delete': 'alert remove $ webhook',
    'webhook test': 'alert test',
    webhook: 'alert',
    email: 'alert',
  },
  examples: {
    'alert add': [
      ['lfs-quota alert add acme ada@example.com'],
      ['lfs-quota alert add acme https://hooks.example.com/lfs-quota', "prints the URL's secret"],
      ['lfs-quota alert add acme https://hooks.example.com/lfs-quota --new-secret'],
    ],
    'alert list': [['lfs-quota alert list acme']],
    'alert remove': [
      ['lfs-quota alert remove acme ada@example.com'],
      ['lfs-quota alert remove acme webhook', 'the URL'],
    ],
    'alert test': [['lfs-quota alert test acme']],
  },
  hints: {
    'webhook-not-found': 'Set one: lfs-quota alert add TENANT URL',
    'email-not-found': 'List them: lfs-quota alert list TENANT',
    'emails-off': 'The operator can enable it with email.from. Or use: lfs-quota alert add TENANT URL',
    'emails-full': 'Remove one first: lfs-quota alert remove TENANT ADDRESS',
    'emails-too-many': 'Retry tomorrow.',
    'test-too-soon': later,
  },
};
