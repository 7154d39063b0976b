import type { BodyOf } from '../../api-client.ts';
import { type CliSubject, flag, group, operand, routeCommand, tenantOperand } from '../../command.ts';
import { later } from '../../errors.ts';
import { formatAge, formatUntil } from '../../render.ts';
import { emailCommands } from './email.ts';

const webhookCommands = group('webhook', 'Send usage alerts to a URL', [
  routeCommand({
    name: 'set',
    description: 'Send alerts to this URL; a new one gets a secret, shown once',
    route: 'setWebhook',
    operands: {
      tenant: tenantOperand,
      url: operand('<url>', 'https on port 443, such as https://hooks.example.com/lfs-quota'),
    },
    options: { newSecret: flag('--new-secret', 'create a new secret; the old one also signs for 24 hours') },
    body: ({ operands: { url }, options: { newSecret } }) => ({ url, newSecret }),
    print: ({ secret, ...webhook }, { context, view }) => {
      if (secret === null) return renderWebhook(webhook, view.nowMs);
      context.err(
        "Copy this secret now: you won't see it again. Your receiver verifies signatures with it.\n",
      );
      return `${secret}\n`;
    },
  }),
  routeCommand({
    name: 'show',
    description: 'Show the webhook and its last delivery',
    route: 'getWebhook',
    operands: { tenant: tenantOperand },
    print: (body, { view }) => renderWebhook(body, view.nowMs),
  }),
  routeCommand({
    name: 'delete',
    description: 'Remove the webhook',
    route: 'deleteWebhook',
    operands: { tenant: tenantOperand },
    print: () => 'The webhook is deleted.\n',
  }),
  routeCommand({
    name: 'test',
    description: 'Send a test event, once',
    route: 'testWebhook',
    operands: { tenant: tenantOperand },
    print: ({ eventId }, { context, operands }) =>
      `Sending ${eventId}. See the result: ${context.program} webhook show ${operands.tenant}\n`,
  }),
]);

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
  commands: { 360: webhookCommands, 365: emailCommands },
  examples: {
    'webhook set': [
      ['lfs-quota webhook set acme https://hooks.example.com/lfs-quota'],
      ['lfs-quota webhook set acme https://hooks.example.com/lfs-quota --new-secret'],
    ],
    'webhook show': [['lfs-quota webhook show acme']],
    'webhook delete': [['lfs-quota webhook delete acme']],
    'webhook test': [['lfs-quota webhook test acme']],
    'email add': [['lfs-quota email add acme ada@example.com']],
    'email list': [['lfs-quota email list acme']],
    'email remove': [['lfs-quota email remove acme ada@example.com']],
  },
  hints: {
    'webhook-not-found': 'Set one: lfs-quota webhook set TENANT URL',
    'email-not-found': 'List them: lfs-quota email list TENANT',
    'emails-off': 'The operator can enable it with email.from. Or use: lfs-quota webhook set TENANT URL',
    'emails-full': 'Remove one first: lfs-quota email remove TENANT ADDRESS',
    'emails-too-many': 'Retry tomorrow.',
    'test-too-soon': later,
  },
};
