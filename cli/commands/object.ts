import { type Command, Option } from 'commander';
import { type ObjectBody, type ObjectPageBody, objectPageSchema } from '../../lambda/api/contract/objects.ts';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import type { ApiClient } from '../api-client.ts';
import { type DeleteOptions, formatFreed, runDelete, saysYes, withDeleteOptions } from '../confirm-delete.ts';
import type { CliContext } from '../context.ts';
import { FirstItems } from '../extreme-items.ts';
import { eachPage, type ListOptions, pageSizeMax, printList, withListOptions } from '../list-pages.ts';
import { openClient, parseOid, parseRepo, parseTenant, parseUpTo } from '../options.ts';
import { formatAge, formatObjects, formatUntil } from '../render.ts';
import { renderTable } from '../table.ts';
import { type View, viewOf } from '../view.ts';
import { waitUntilGone } from '../wait-until-gone.ts';

interface ObjectListOptions extends ListOptions {
  readonly repo?: string;
  readonly largest?: number;
  readonly oldest?: number;
}

/** Of `--largest` and `--oldest`. */
const extremesMax = 10_000;

interface ObjectDeleteOptions extends DeleteOptions {
  readonly wait?: boolean;
}

/** `1023.99 GiB`. */
const sizeCharacters = 11;

/** `object list|delete`. */
export function registerObject(program: Command, context: CliContext): void {
  const group = program.command('object').description('list what is stored, and delete single objects');
  registerList(group, context);
  registerDelete(group, context);
}

function registerList(group: Command, context: CliContext): void {
  withListOptions(group.command('list'))
    .description('list what a tenant stores, by repo and oid')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .option('--repo <repo>', 'only those of this repo', parseRepo)
    .addOption(
      new Option('--largest <n>', `only the n largest, at most ${extremesMax}`)
        .argParser(parseUpTo(extremesMax))
        .conflicts(['limit', 'cursor']),
    )
    .addOption(
      new Option('--oldest <n>', `only the n that were stored first, at most ${extremesMax}`)
        .argParser(parseUpTo(extremesMax))
        .conflicts(['largest', 'limit', 'cursor']),
    )
    .action(async (tenant: string, options: ObjectListOptions) => {
      const client = openClient(options, context);
      const list = {
        path: `/v1/tenants/${tenant}/objects`,
        ...(options.repo !== undefined && { filter: { repo: options.repo } }),
        shape: objectPageSchema,
        items: 'objects' as const,
        options: { ...options, pageSize: options.pageSize ?? pageSizeMax },
      };
      const first = extremesOf(options);
      if (first) await printExtremes(context, { pages: eachPage(client, list), first, isJson: options.json });
      else if (options.json) await printList(context, client, { ...list, render: () => '' });
      else await printObjects(context, client, eachPage(client, list));
    });
}

type Pages = AsyncIterable<{ readonly body: ObjectPageBody }>;

/** Page by page. */
async function printObjects(context: CliContext, { busy }: ApiClient, pages: Pages): Promise<void> {
  const sum = { objectCount: 0, bytes: 0 };
  for await (const { body } of pages) {
    busy.hide();
    context.out(objectLines(body.objects, viewOf(context)));
    addTo(sum, body);
  }
  context.out(totalText(sum));
}

async function printExtremes(
  context: CliContext,
  {
    pages,
    first,
    isJson = false,
  }: { pages: Pages; first: FirstItems<ObjectBody>; isJson: boolean | undefined },
): Promise<void> {
  const sum = { objectCount: 0, bytes: 0 };
  const others: ObjectPageBody['others'] = [];
  for await (const { body } of pages) {
    for (const object of body.objects) first.add(object);
    others.push(...body.others);
    addTo(sum, body);
  }
  const objects = first.sorted();
  if (isJson) return context.out(`${JSON.stringify({ objects, others, nextCursor: null })}\n`);
  if (objects.length > 0) context.out(renderExtremes(objects, viewOf(context)));
  context.out(totalText(sum));
}

function addTo(sum: { objectCount: number; bytes: number }, { objects }: ObjectPageBody): void {
  sum.objectCount += objects.length;
  for (const { sizeBytes } of objects) sum.bytes += sizeBytes;
}

function totalText({ objectCount, bytes }: { objectCount: number; bytes: number }): string {
  if (objectCount === 0) return 'No objects: nothing is stored.\n';
  return `Total: ${formatObjects(objectCount)}, ${formatBytes(bytes)}.\n`;
}

/** Those that come first. undefined: all are listed. */
function extremesOf({ largest, oldest }: ObjectListOptions): FirstItems<ObjectBody> | undefined {
  if (largest !== undefined) return new FirstItems(largest, (a, b) => b.sizeBytes - a.sizeBytes);
  // ISO dates of one form compare as text. What has none comes last.
  const compare = (a: ObjectBody, b: ObjectBody) => ((a.storedAt ?? '~') < (b.storedAt ?? '~') ? -1 : 1);
  return oldest === undefined ? undefined : new FirstItems(oldest, compare);
}

function renderExtremes(objects: readonly ObjectBody[], view: View): string {
  const rows = objects.map(({ repo, oid, sizeBytes, storedAt }) => [
    oid,
    formatBytes(sizeBytes),
    storedAt === null ? '-' : formatAge(storedAt, view.nowMs),
    repo,
  ]);
  return renderTable(
    ['oid', { name: 'size', right: true }, 'stored', { name: 'repo', least: 16 }],
    rows,
    view,
  );
}

/** There may be millions, so no table is made of them all: a page at a time, in columns of one width. */
function objectLines(objects: readonly ObjectBody[], view: View): string {
  const rows = objects.map(({ repo, oid, sizeBytes }) => [
    oid,
    formatBytes(sizeBytes).padStart(sizeCharacters),
    repo,
  ]);
  return renderTable(['oid', 'size', { name: 'repo', least: 16 }], rows, { ...view, hasHeading: false });
}

function registerDelete(group: Command, context: CliContext): void {
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
