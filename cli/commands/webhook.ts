import type { Command } from 'commander';
import {
  setWebhookSchema,
  type WebhookBody,
  webhookSchema,
  webhookTestSchema,
} from '../../lambda/api/contract/webhooks.ts';
import { emptyShape } from '../api-client.ts';
import type { CliContext } from '../context.ts';
import { type ApiOptions, managerToken, openClient, parseTenant, withApiOptions } from '../options.ts';
import { printAnswer } from '../print-answer.ts';
import { printable } from '../printable.ts';
import { formatAge, formatUntil } from '../render.ts';

const pathOf = (tenant: string) => `/v1/tenants/${tenant}/webhook`;

/** `webhook set|show|delete|test`. */
export function registerWebhook(program: Command, context: CliContext): void {
  const group = program
    .command('webhook')
    .description('where the warnings of a tenant are sent (docs/warnings.md)');
  registerSet(group, context);
  registerShow(group, context);
  registerDelete(group, context);
  registerTest(group, context);
}

function registerSet(group: Command, context: CliContext): void {
  withApiOptions(group.command('set'))
    .description('send warnings to this address; a new one gets a secret, which is shown this once')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<url>', 'https on port 443, such as https://hooks.example.com/lfs-quota')
    .option('--new-secret', 'replace the secret; the old one signs too for 24 hours')
    .action(async (tenant: string, url: string, options: ApiOptions & { newSecret?: boolean }) => {
      const answer = await openClient(options, context, managerToken).send({
        method: 'PUT',
        path: pathOf(tenant),
        body: { url, newSecret: options.newSecret },
        shape: setWebhookSchema,
      });
      if (options.json) return context.out(`${answer.text}\n`);
      const { secret, ...webhook } = answer.body;
      if (secret === null) return context.out(renderWebhook(webhook, context.nowMs()));
      context.err('Keep this secret: it is shown this once. Receivers check signatures with it.\n');
      context.out(`${secret}\n`);
    });
}

function registerShow(group: Command, context: CliContext): void {
  withApiOptions(group.command('show'))
    .description('show where warnings are sent, and what became of the last one')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .action(async (tenant: string, options: ApiOptions) => {
      await printAnswer(context, options, {
        wanted: managerToken,
        method: 'GET',
        path: pathOf(tenant),
        shape: webhookSchema,
        render: (body) => renderWebhook(body, context.nowMs()),
      });
    });
}

function registerDelete(group: Command, context: CliContext): void {
  withApiOptions(group.command('delete'))
    .description('send no more warnings')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .action(async (tenant: string, options: ApiOptions) => {
      await openClient(options, context, managerToken).send({
        method: 'DELETE',
        path: pathOf(tenant),
        shape: emptyShape,
      });
      context.out(options.json ? `${JSON.stringify({ tenant })}\n` : 'The webhook is deleted.\n');
    });
}

function registerTest(group: Command, context: CliContext): void {
  withApiOptions(group.command('test'))
    .description('send a test event, once')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .action(async (tenant: string, options: ApiOptions) => {
      await printAnswer(context, options, {
        wanted: managerToken,
        method: 'POST',
        path: `${pathOf(tenant)}/test`,
        shape: webhookTestSchema,
        render: (body) =>
          `Sending ${body.eventId}. See what became of it: ${context.program} webhook show ${tenant}\n`,
      });
    });
}

function renderWebhook({ url, secretChangedAt, last }: WebhookBody, nowMs: number): string {
  return [
    `url     ${printable(url)}`,
    `secret  since ${secretChangedAt}`,
    `last    ${last === null ? 'nothing was sent yet' : lastText(last, nowMs)}`,
    '',
  ].join('\n');
}

function lastText(last: NonNullable<WebhookBody['last']>, nowMs: number): string {
  const { eventId, type, at, attempt, outcome, status, failure, nextAt } = last;
  const event = `${printable(type)} ${printable(eventId)}, attempt ${attempt}, ${formatAge(at, nowMs)}`;
  if (outcome === 'delivered') return `${event}: delivered (${status})`;
  const why = status === null ? (failure ?? 'no answer').replaceAll('-', ' ') : `answered ${status}`;
  const next = nextAt === null ? 'given up' : `again ${formatUntil(nextAt, nowMs)}`;
  return `${event}: ${why}, ${next}`;
}
