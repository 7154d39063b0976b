import type { Command } from 'commander';
import { type DeleteOptions, formatFreed, runDelete, saysYes, withDeleteOptions } from '../confirm-delete.ts';
import type { CliContext } from '../context.ts';
import { openClient, parseOid, parseRepo, parseTenant } from '../options.ts';
import { formatUntil } from '../render.ts';
import { waitUntilGone } from '../wait-until-gone.ts';

interface ObjectDeleteOptions extends DeleteOptions {
  readonly wait?: boolean;
}

/** `object delete TENANT REPO OID…`. */
export function registerObject(program: Command, context: CliContext): void {
  const group = program.command('object').description('delete single objects');
  withDeleteOptions(group.command('delete'))
    .description('delete objects of a repo after a grace time; a push before then keeps them')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<repo>', 'name of the repo', parseRepo)
    .argument('<oid...>', 'SHA-256 of an object, as `git lfs ls-files --long` shows it', collectOids)
    .option('--wait', 'wait until they are gone, and show what is left')
    .action(async (tenant: string, repo: string, oids: readonly string[], options: ObjectDeleteOptions) => {
      const client = openClient(options, context);
      const paths = oids.map((oid) => `/v1/tenants/${tenant}/repos/${repo}/objects/${oid}`);
      const them = oids.length === 1 ? 'it' : 'them';
      const deleted = await runDelete(context, {
        client,
        options,
        question: `Delete ${them}? [y/N] `,
        isYes: saysYes,
        paths,
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
      if (deleted === undefined || !options.wait) return;
      const objects = deleted.map((plan, index) => ({
        oid: oids[index] ?? '',
        path: paths[index] ?? '',
        plan,
      }));
      const where = `${tenant}/${repo}`;
      await waitUntilGone({ client, context }, { where, objects, isQuiet: options.json === true });
    });
}

/** The oids in the order of the command line, without repeats. */
function collectOids(text: string, before: readonly string[] = []): readonly string[] {
  const oid = parseOid(text);
  return before.includes(oid) ? before : [...before, oid];
}
