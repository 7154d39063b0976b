import type { Command } from 'commander';
import { type DeletionBody, deletionPageSchema } from '../../lambda/api/contract/deletes.ts';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import type { CliContext } from '../context.ts';
import { type ListOptions, printList, withListOptions } from '../list-pages.ts';
import { openClient, parseRepo, parseTenant } from '../options.ts';
import { formatObjects, formatUntil } from '../render.ts';
import { renderTable } from '../table.ts';
import { type View, viewOf } from '../view.ts';

/** `deletion list TENANT`. */
export function registerDeletion(program: Command, context: CliContext): void {
  const group = program
    .command('deletion')
    .description('show which objects are marked for deletion; a push that names one keeps it');
  withListOptions(group.command('list'))
    .description('list the objects that are marked for deletion, repo by repo, and when they go')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .option('--repo <repo>', 'only those of this repo', parseRepo)
    .action(async (tenant: string, options: ListOptions & { repo?: string }) => {
      await printList(context, openClient(options, context), {
        path: `/v1/tenants/${tenant}/deletions`,
        ...(options.repo !== undefined && { filter: { repo: options.repo } }),
        shape: deletionPageSchema,
        items: 'deletions',
        options,
        render: (pages) => {
          const deletions = pages.flatMap((page) => page.deletions);
          return deletions.length === 0
            ? 'No deletions: no object is marked.\n'
            : renderDeletions(deletions, viewOf(context));
        },
      });
    });
}

function renderDeletions(deletions: readonly DeletionBody[], view: View): string {
  const rows = deletions.map(({ oid, sizeBytes, state, dueAt, repo }) => [
    oid,
    formatBytes(sizeBytes),
    state === 'deleting' ? 'going now' : formatUntil(dueAt, view.nowMs),
    repo,
  ]);
  let bytes = 0;
  for (const { sizeBytes } of deletions) bytes += sizeBytes;
  return (
    renderTable(['oid', { name: 'size', right: true }, 'goes', { name: 'repo', least: 16 }], rows, view) +
    `Total: ${formatObjects(deletions.length)}, ${formatBytes(bytes)}. To keep one, push it again before it goes.\n`
  );
}
