import type { Command } from 'commander';
import { objectPageSchema } from '../../lambda/api/contract/objects.ts';
import { recountQueuedSchema, repoPageSchema } from '../../lambda/api/contract/repos.ts';
import type { ApiClient } from '../api-client.ts';
import type { CliContext } from '../context.ts';
import { driftOf, type RepoSums, renderDrift } from '../drift.ts';
import { eachPage, pageSizeMax } from '../list-pages.ts';
import { type ApiOptions, openClient, parseTenant, withApiOptions } from '../options.ts';
import { viewOf } from '../view.ts';

/** `reconcile TENANT`: asks for a recount of everything that the tenant stores, or shows what it would find. */
export function registerReconcile(program: Command, context: CliContext): void {
  withApiOptions(program.command('reconcile'))
    .description('recount everything that a tenant stores, in the background')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .option('--dry-run', 'list the store, and show how far the counts are from it; change nothing')
    .action(async (tenant: string, options: ApiOptions & { dryRun?: boolean }) => {
      const client = openClient(options, context);
      if (options.dryRun) return showDrift(client, { context, tenant, isJson: options.json === true });
      const answer = await client.send({
        method: 'POST',
        path: `/v1/tenants/${tenant}/reconcile`,
        shape: recountQueuedSchema,
      });
      if (options.json) return context.out(`${answer.text}\n`);
      context.out(`The recount is queued. See when it was done: ${context.program} usage ${tenant}\n`);
    });
}

/** Both are read by routes that change nothing. What is counted is read first, so that a count meanwhile looks like drift. */
async function showDrift(
  client: ApiClient,
  { context, tenant, isJson }: { context: CliContext; tenant: string; isJson: boolean },
): Promise<void> {
  const options = { pageSize: pageSizeMax };
  const counted = [];
  const repoPath = `/v1/tenants/${tenant}/repos`;
  for await (const { body } of eachPage(client, {
    path: repoPath,
    shape: repoPageSchema,
    items: 'repos',
    options,
  }))
    counted.push(...body.repos);
  const stored = new Map<string, RepoSums>();
  const add = (repo: string, objectCount: number, sizeBytes: number) => {
    const sums = stored.get(repo) ?? { objectCount: 0, storedBytes: 0 };
    stored.set(repo, {
      objectCount: sums.objectCount + objectCount,
      storedBytes: sums.storedBytes + sizeBytes,
    });
  };
  const objectPath = `/v1/tenants/${tenant}/objects`;
  for await (const { body } of eachPage(client, {
    path: objectPath,
    shape: objectPageSchema,
    items: 'objects',
    options,
  })) {
    for (const { repo, sizeBytes } of body.objects) add(repo, 1, sizeBytes);
    for (const { repo, objectCount, sizeBytes } of body.others) add(repo, objectCount, sizeBytes);
  }
  const drift = driftOf({ counted, stored });
  context.out(isJson ? `${JSON.stringify({ tenant, repos: drift })}\n` : renderDrift(drift, viewOf(context)));
}
