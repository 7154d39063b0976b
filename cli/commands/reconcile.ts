import type { Command } from 'commander';
import { queuedShape } from '../api-schemas.ts';
import type { CliContext } from '../context.ts';
import { type ApiOptions, openClient, parseTenant, withApiOptions } from '../options.ts';

/** `reconcile TENANT`: has everything that the tenant stores counted again, in the background. */
export function registerReconcile(program: Command, context: CliContext): void {
  withApiOptions(program.command('reconcile'))
    .description('have all that a tenant stores counted again, in the background')
    .argument('<tenant>', "the tenant's name", parseTenant)
    .action(async (tenant: string, options: ApiOptions) => {
      const path = `/v1/tenants/${tenant}/reconcile`;
      const answer = await openClient(options, context).send({ method: 'POST', path, shape: queuedShape });
      if (options.json) return context.out(`${answer.text}\n`);
      context.out(`Queued. \`usage ${tenant}\` shows when it was counted last.\n`);
    });
}
