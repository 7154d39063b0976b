import type { Command } from 'commander';
import { type DeleteOptions, formatFreed, runDelete, saysYes, withDeleteOptions } from '../confirm-delete.ts';
import type { CliContext } from '../context.ts';
import { openClient, parseOid, parseRepo, parseTenant } from '../options.ts';
import { formatUntil } from '../render.ts';

/** `object delete TENANT REPO OID…`. */
export function registerObject(program: Command, context: CliContext): void {
  const group = program.command('object').description('delete single objects');
  withDeleteOptions(group.command('delete'))
    .description('delete objects of a repo, after a time in which a push keeps them')
    .argument('<tenant>', "the tenant's name", parseTenant)
    .argument('<repo>', "the repo's name", parseRepo)
    .argument('<oid...>', 'their SHA-256, as `git lfs ls-files --long` shows it', collectOids)
    .action(async (tenant: string, repo: string, oids: readonly string[], options: DeleteOptions) => {
      const them = oids.length === 1 ? 'it' : 'them';
      await runDelete(context, {
        client: openClient(options, context),
        options,
        question: `Delete ${them}? [y/N] `,
        isYes: saysYes,
        paths: oids.map((oid) => `/v1/tenants/${tenant}/repos/${repo}/objects/${oid}`),
        describe: (plans) => {
          const dueAt =
            plans
              .map((plan) => plan.dueAt)
              .sort()
              .at(-1) ?? '';
          return (
            `${tenant}/${repo}: ${formatFreed(plans)}.\n` +
            `Whoever pushes ${them} before keeps ${them}; the deletion is due ${formatUntil(dueAt, context.nowMs())}.\n`
          );
        },
      });
    });
}

/** One after the other as the command line has them, each once. */
function collectOids(text: string, before: readonly string[] = []): readonly string[] {
  const oid = parseOid(text);
  return before.includes(oid) ? before : [...before, oid];
}
