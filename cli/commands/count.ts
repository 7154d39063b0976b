import type { Command } from 'commander';
import { type CountBody, countPageSchema, countSchema } from '../../lambda/api/contract/counts.ts';
import type { CliContext } from '../context.ts';
import { type ListOptions, printList, withListOptions } from '../list-pages.ts';
import { type ApiOptions, openClient, parseRepo, parseTenant, withApiOptions } from '../options.ts';
import { printAnswer } from '../print-answer.ts';
import { formatAge, formatCount, formatUntil } from '../render.ts';
import { renderTable } from '../table.ts';
import { type View, viewOf } from '../view.ts';

/** What each command asks for, and what it prints then. */
const changes = {
  pause: {
    state: 'paused',
    description: 'scan no shard of it until it is resumed; pushes and deletes go on',
  },
  resume: { state: 'running', description: 'go on with its count' },
  cancel: {
    state: 'cancelled',
    description: 'give up the recount that is under way; what was counted stays',
  },
} as const;

/** `count list|pause|resume|cancel`: giant repos, which are counted by shards. */
export function registerCount(program: Command, context: CliContext): void {
  const group = program.command('count').description('show and steer how repos of many objects are counted');
  withListOptions(group.command('list'))
    .description('list the repos that are counted by shards, and how far they are')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .action(async (tenant: string, options: ListOptions) => {
      await printList(context, openClient(options, context), {
        path: `/v1/tenants/${tenant}/counts`,
        shape: countPageSchema,
        items: 'counts',
        options,
        render: (pages) => {
          const counts = pages.flatMap((page) => page.counts);
          return counts.length === 0
            ? 'No repo is so large that it is counted by shards.\n'
            : renderCounts(counts, viewOf(context));
        },
      });
    });
  for (const [name, { state, description }] of Object.entries(changes))
    withApiOptions(group.command(name))
      .description(description)
      .argument('<tenant>', 'name of the tenant', parseTenant)
      .argument('<repo>', 'name of the repo', parseRepo)
      .action(async (tenant: string, repo: string, options: ApiOptions) => {
        await printAnswer(context, options, {
          method: 'PATCH',
          path: `/v1/tenants/${tenant}/repos/${repo}/count`,
          body: { state },
          shape: countSchema,
          render: (body) => renderCounts([body], viewOf(context)),
        });
      });
}

function renderCounts(counts: readonly CountBody[], view: View): string {
  const { nowMs } = view;
  const rows = counts.map(({ repo, kind, state, progress }) => [
    repo,
    kind,
    state,
    ...(progress
      ? [
          `${(progress.share * 100).toFixed(1)} %`,
          formatCount(progress.objectCount),
          progress.objectsPerSecond === null ? '-' : formatCount(Math.round(progress.objectsPerSecond)),
          formatCount(progress.listRequests),
          formatAge(progress.beganAt, nowMs),
          progress.secondsLeft === null
            ? '-'
            : formatUntil(new Date(nowMs + progress.secondsLeft * 1000).toISOString(), nowMs),
        ]
      : ['-', '-', '-', '-', '-', '-']),
  ]);
  const columns = [
    { name: 'repo', least: 16 },
    'count',
    'state',
    { name: 'done', right: true },
    { name: 'objects', right: true },
    { name: 'a second', right: true },
    { name: 'LISTs', right: true },
    'began',
    'left',
  ];
  return renderTable(columns, rows, view);
}
