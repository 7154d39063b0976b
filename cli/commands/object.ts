import type { Command } from 'commander';
import { type DeleteOptions, formatFreed, runDelete, saysYes, withDeleteOptions } from '../confirm-delete.ts';
import type { CliContext } from '../context.ts';
import { openClient, parseOid, parseRepo, parseTenant } from '../options.ts';
import { formatUntil } from '../render.ts';

/** `object delete TENANT REPO OID…`. */
export function registerObject(program: Command, context: CliContext): void {
  const group = program.command('object').description('delete single objects');
  withDeleteOptions(group.command('delete'))
    .description('delete objects of a repo after a grace time; a push before then keeps them')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<repo>', 'name of the repo', parseRepo)
    .argument('<oid...>', 'SHA-256 of an object, as `git lfs ls-files --long` shows it', collectOids)
    .action(async (tenant: string, repo: string, oids: readonly string[], options: DeleteOptions) => {
      const them = oids.length === 1 ? 'it' : 'them';
      await runDelete(context, {
        client: openClient(options, context),
        options,
        question: `Delete ${them}? [y/N] `,
        isYes: saysYes,
        paths: oids.map((oid) => `/v1/tenants/${tenant}/repos/${repo}/objects/${oid}`),
        summary: (plans) => {
          const dueAt =
            plans
              .map((plan) => plan.dueAt)
              .sort()
              .at(-1) ?? '';
          const isHeld = plans.some((plan) => plan.waitsFor === 'uploads');
          const reason = isHeld ? ', when upload URLs that could bring it back have expired' : '';
          return (
            `${tenant}/${repo}: ${formatFreed(plans)}.\n` +
            `The deletion is due ${formatUntil(dueAt, context.nowMs())}${reason}. To keep ${them}, push ${them} again before then.\n`
          );
        },
      });
    });
}

/** The oids in the order of the command line, without repeats. */
function collectOids(text: string, before: readonly string[] = []): readonly string[] {
  const oid = parseOid(text);
  return before.includes(oid) ? before : [...before, oid];
}
