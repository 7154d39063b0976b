import type { Command } from 'commander';
import { type DeleteOptions, formatFreed, runDelete, withDeleteOptions } from '../confirm-delete.ts';
import type { CliContext } from '../context.ts';
import { openClient, parseTenant } from '../options.ts';

/** `tenant delete NAME`. */
export function registerTenantDelete(group: Command, context: CliContext): void {
  withDeleteOptions(group.command('delete'))
    .description('delete a tenant with all of its repos, for good')
    .argument('<name>', "the tenant's name", parseTenant)
    .action(async (tenant: string, options: DeleteOptions) => {
      const plans = await runDelete(context, {
        client: openClient(options, context),
        options,
        question: `Type ${tenant} to delete it for good: `,
        isYes: (answer) => answer === tenant,
        paths: [`/v1/tenants/${tenant}`],
        describe: (found) =>
          `${tenant}: ${formatFreed(found)}.\n` +
          'With its deletion its tokens end and its repos are closed, then emptied. Its name stays taken.\n',
      });
      if (plans === undefined || options.json) return;
      context.out(`It is being emptied; \`tenant show ${tenant}\` shows what is left, until nothing is.\n`);
    });
}
