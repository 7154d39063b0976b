import type { Command } from 'commander';
import type { DeletePlanBody } from '../../lambda/api/contract/deletes.ts';
import { type RepoBody, repoPageSchema, repoSchema } from '../../lambda/api/contract/repos.ts';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import type { ApiClient } from '../api-client.ts';
import { changeRepo, commandForRepo, findRepo } from '../change-repo.ts';
import { type DeleteOptions, formatFreed, runDelete, saysYes, withDeleteOptions } from '../confirm-delete.ts';
import { confirmLimit, type LimitOptions, withLimitOptions } from '../confirm-limit.ts';
import type { CliContext } from '../context.ts';
import { type ListOptions, printList, withListOptions } from '../list-pages.ts';
import {
  type ApiOptions,
  openClient,
  parseLimit,
  parseRepo,
  parseTenant,
  withApiOptions,
} from '../options.ts';
import { printAnswer } from '../print-answer.ts';
import { formatObjects, formatUntil } from '../render.ts';
import { viewOf } from '../view.ts';
import { renderRepos } from '../views.ts';
import { WaitLine } from '../wait-line.ts';
import { registerRepoHost } from './repo-host.ts';
import { registerRepoPublic } from './repo-public.ts';

const pollMs = 2000;

/** `repo create|list|show|limit|public|private|host|unhost|delete`. */
export function registerRepo(program: Command, context: CliContext): void {
  const group = program
    .command('repo')
    .description(
      "create, list, limit and delete a tenant's repos, make them public, and map them to git hosts",
    );
  registerCreate(group, context);
  registerList(group, context);
  registerShow(group, context);
  registerLimit(group, context);
  registerRepoPublic(group, context);
  registerRepoHost(group, context);
  registerDelete(group, context);
}

function registerList(group: Command, context: CliContext): void {
  withListOptions(group.command('list'))
    .description("list a tenant's repos, the largest first; with --json by name")
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .action(async (tenant: string, options: ListOptions) => {
      await printList(context, openClient(options, context), {
        path: `/v1/tenants/${tenant}/repos`,
        shape: repoPageSchema,
        items: 'repos',
        options,
        render: (pages) => {
          const repos = pages.flatMap((page) => page.repos);
          return repos.length === 0 ? 'No repos: nothing is stored.\n' : renderRepos(repos, viewOf(context));
        },
      });
    });
}

function registerCreate(group: Command, context: CliContext): void {
  withApiOptions(group.command('create'))
    .description('create a repo: needed only if a push may not do it, or to limit it before its first push')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<repo>', 'name of the repo', parseRepo)
    .option('--limit <size>', 'its own limit, such as 10GiB', parseLimit)
    .action(async (tenant: string, repo: string, options: ApiOptions & { limit?: number | null }) => {
      await printAnswer(context, options, {
        method: 'POST',
        path: `/v1/tenants/${tenant}/repos`,
        body: { repo, ...(options.limit !== undefined && { limitBytes: options.limit }) },
        shape: repoSchema,
        render: (body) => renderRepos([body], viewOf(context)),
      });
    });
}

function registerShow(group: Command, context: CliContext): void {
  commandForRepo(group, 'show', 'show one repo').action(
    async (tenant: string, repo: string, options: ApiOptions) => {
      await printAnswer(context, options, {
        method: 'GET',
        path: `/v1/tenants/${tenant}/repos/${repo}`,
        shape: repoSchema,
        render: (body) => renderRepos([body], viewOf(context)),
      });
    },
  );
}

function registerLimit(group: Command, context: CliContext): void {
  withLimitOptions(
    commandForRepo(group, 'limit', "change a repo's own storage limit, in addition to its tenant's"),
  )
    .argument('<size>', 'the new limit, such as 10GiB, or unlimited', parseLimit)
    .action(async (tenant: string, repo: string, limitBytes: number | null, options: LimitOptions) => {
      await confirmLimit(context, options, {
        bytes: limitBytes,
        readUsed: async () => (await findRepo(context, { tenant, repo, options }))?.storedBytes ?? null,
        warning: (used, limit, excess) =>
          `${tenant}/${repo} stores ${used}, more than the new limit of ${limit}. Uploads fail until you delete ${excess}.`,
      });
      await changeRepo(context, {
        tenant,
        repo,
        options,
        change: { limitBytes },
        shown: (_path, body) => renderRepos([body], viewOf(context)),
      });
    });
}

function registerDelete(group: Command, context: CliContext): void {
  withDeleteOptions(group.command('delete'))
    .description('delete a repo and all of its objects')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<repo>', 'name of the repo', parseRepo)
    .option('--wait', 'wait until the repo is empty, and show what is left')
    .action(async (tenant: string, repo: string, options: DeleteOptions & { wait?: boolean }) => {
      const client = openClient(options, context);
      const deleted = await runDelete(context, {
        client,
        options,
        question: 'Delete it? [y/N] ',
        isYes: saysYes,
        paths: [`/v1/tenants/${tenant}/repos/${repo}`],
        summary: (plans) =>
          `${tenant}/${repo}: ${formatFreed(plans)}.\n` +
          `Pushes and pulls fail until it is empty.\n${heldText(plans[0], context.nowMs())}`,
      });
      if (deleted === undefined) return;
      if (options.wait)
        await waitUntilEmpty({ client, context }, { tenant, repo, options, plan: deleted[0] });
      else if (!options.json)
        context.out(
          `Its objects are being deleted. See what is left: ${context.program} repo list ${tenant}\n`,
        );
    });
}

async function waitUntilEmpty(
  { client, context }: { client: ApiClient; context: CliContext },
  wait: { tenant: string; repo: string; options: ApiOptions; plan: DeletePlanBody | undefined },
): Promise<void> {
  const { tenant, repo, options } = wait;
  const line = new WaitLine(context, { isQuiet: options.json === true });
  for (;;) {
    const path = `/v1/tenants/${tenant}/repos/${repo}`;
    const left = await client.find({ path, shape: repoSchema });
    if (left?.deleting !== true || isEmpty(left, wait.plan?.dueAt ?? '')) break;
    const now = { nowMs: context.nowMs(), inPlace: line.inPlace };
    line.show(`${leftText(left)}${waitText(wait.plan, now)}`);
    await context.sleep(pollMs);
  }
  line.end(`${tenant}/${repo} is empty. Its name can be used again in a minute or two.`);
}

function leftText(left: RepoBody): string {
  if (left.objectCount === null) return 'not counted yet';
  return `${formatObjects(left.objectCount)} left, ${formatBytes(left.storedBytes ?? 0)}`;
}

/** What the delete waits for. Where lines cannot be redrawn, it says the time and does not count down. */
function waitText(
  plan: DeletePlanBody | undefined,
  { nowMs, inPlace }: { nowMs: number; inPlace: boolean },
): string {
  if (plan?.waitsFor === undefined) return '';
  if (Date.parse(plan.dueAt) <= nowMs) return '; what is left goes with the next run of the schedule';
  const until = inPlace ? formatUntil(plan.dueAt, nowMs) : `at ${plan.dueAt}`;
  return `; uploads of it are under way, and what is left goes ${until}`;
}

function heldText(plan: DeletePlanBody | undefined, nowMs: number): string {
  if (plan?.waitsFor === undefined) return '';
  return (
    'What was pushed to it just now goes when its upload URLs have expired: the last of it ' +
    `${formatUntil(plan.dueAt, nowMs)}, at ${plan.dueAt}.\n`
  );
}

/** Whether a count after the deletion found nothing. ISO dates of one form compare as text. */
function isEmpty(repo: RepoBody, deletedAt: string): boolean {
  return repo.objectCount === 0 && repo.countedAt !== null && repo.countedAt >= deletedAt;
}
