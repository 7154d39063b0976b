import type { Command } from 'commander';
import { subscriptionSchema } from '../../lambda/api/contract/tenants.ts';
import { withoutColours } from '../colour.ts';
import { type CliContext, canDrawBlocks, canRedraw } from '../context.ts';
import { displayWidth } from '../display-width.ts';
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
        const width = canRedraw(context, 'out') && !options.json ? viewOf(context).width : undefined;
        context.out(width === undefined ? next : redraw({ text, next, width }));
        text = next;
      }
    });
}

/** The new text replaces the old: move up by the rows that it takes, then clear to the end of the screen. */
function redraw({ text, next, width }: { text: string; next: string; width: number }): string {
  const rows = text
    .split('\n')
    .slice(0, -1)
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(displayWidth(withoutColours(line)) / width)), 0);
  return `\u001b[${rows}A\u001b[J${next}`;
}
