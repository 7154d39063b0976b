import type { Command } from 'commander';
import { subscriptionSchema } from '../../lambda/http/management/tenants/schemas.ts';
import { type CliContext, canDrawBlocks, canRedraw } from '../context.ts';
import { type ApiOptions, openClient, parseTenant, withApiOptions } from '../options.ts';
import { viewOf } from '../view.ts';
import { renderUsage } from '../views.ts';

const watchIntervalMs = 2000;

/** `usage TENANT`: what is stored, reserved and free, and the age of the count. */
export function registerUsage(program: Command, context: CliContext): void {
  withApiOptions(program.command('usage'))
    .description("show a tenant's usage, limit and repos")
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .option('--refresh', 'count again now, instead of showing the last count')
    .option('--watch', 'repeat every 2 s until Ctrl-C')
    .action(async (tenant: string, options: ApiOptions & { refresh?: boolean; watch?: boolean }) => {
      const client = openClient(options, context);
      const show = async (query: string): Promise<string> => {
        const path = `/v1/tenants/${tenant}/subscription${query}`;
        const answer = await client.send({ method: 'GET', path, shape: subscriptionSchema });
        if (options.json) return `${answer.text}\n`;
        return renderUsage(answer.body, {
          ...viewOf(context),
          drawBlocks: canDrawBlocks(context.env),
          program: context.program,
        });
      };
      let text = await show(options.refresh ? '?refresh=true' : '');
      context.out(text);
      while (options.watch) {
        await context.sleep(watchIntervalMs);
        const next = await show('');
        context.out(redraw({ text, next, inPlace: canRedraw(context, 'out') && !options.json }));
        text = next;
      }
    });
}

/** On a terminal the new text replaces the old: move up by its lines, then clear to the end of the screen. */
function redraw(change: { text: string; next: string; inPlace: boolean }): string {
  if (!change.inPlace) return change.next;
  return `\u001b[${change.text.split('\n').length - 1}A\u001b[J${change.next}`;
}
