import type { Command } from 'commander';
import { recountQueuedSchema } from '../../lambda/http/management/repos/schemas.ts';
import type { CliContext } from '../context.ts';
import { type ApiOptions, openClient, parseTenant, withApiOptions } from '../options.ts';

/** `reconcile TENANT`: asks for a recount of everything that the tenant stores, in the background. */
export function registerReconcile(program: Command, context: CliContext): void {
  withApiOptions(program.command('reconcile'))
    .description('recount everything that a tenant stores, in the background')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .action(async (tenant: string, options: ApiOptions) => {
      const path = `/v1/tenants/${tenant}/reconcile`;
      const answer = await openClient(options, context).send({
        method: 'POST',
        path,
        shape: recountQueuedSchema,
      });
      if (options.json) return context.out(`${answer.text}\n`);
      context.out(`The recount is queued. See when it was done: ${context.program} usage ${tenant}\n`);
    });
}
