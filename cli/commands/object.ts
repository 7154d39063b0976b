import { oidPattern } from '../../lambda/core/rules/names.ts';
import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import type { ApiClient, BodyOf } from '../api-client.ts';
import { least, right, tableOf } from '../columns.ts';
import {
  actionCommand,
  type CliSubject,
  flag,
  group,
  listCommand,
  ofRepo,
  operand,
  option,
  type Rows,
  rowsOf,
  tenantOperand,
} from '../command.ts';
import { type DeletePlanBody, deleteOptions, formatFreed, runDelete, saysYes } from '../confirm.ts';
import type { CliContext } from '../context.ts';
import { CliError } from '../errors.ts';
import { eachPage, pageSizeMax, printList, withListOptions } from '../list-pages.ts';
import { bytesOf } from '../move/objects.ts';
import { matching, parseRepo, parseUpTo } from '../options.ts';
import { WaitLine } from '../progress.ts';
import { formatAge, formatObjects, formatSum, formatUntil } from '../render.ts';
import { renderTable } from '../table.ts';
import { type View, viewOf } from '../terminal.ts';

type ObjectPageBody = BodyOf<'listObjects'>;
/** An object of Git LFS, or a file. */
type ObjectBody = ObjectPageBody['objects'][number] | NonNullable<ObjectPageBody['files']>[number];
const nameOf = (object: ObjectBody) => ('oid' in object ? object.oid : object.name);
const allOf = ({ objects, files = [] }: ObjectPageBody): ObjectBody[] => [...objects, ...files];

/** Of `--largest` and `--oldest`. */
const extremesMax = 10_000;
const parseOid = matching(oidPattern, 'An oid has 64 lower-case hex digits.');
/** `1023.99 GiB`. */
const sizeCharacters = 11;

const rows: Rows = {
  10: actionCommand({
    name: 'list',
    description: "List a tenant's objects by repo and oid",
    base: withListOptions,
    operands: { tenant: tenantOperand },
    options: {
      repo: option('--repo <repo>', 'only those of this repo', parseRepo),
      largest: option(
        '--largest <n>',
        `only the n largest, up to ${extremesMax}`,
        parseUpTo(extremesMax),
        (made) => made.conflicts(['limit', 'cursor']),
      ),
      oldest: option(
        '--oldest <n>',
        `only the oldest n, up to ${extremesMax}`,
        parseUpTo(extremesMax),
        (made) => made.conflicts(['largest', 'limit', 'cursor']),
      ),
    },
    run: async (client, { operands: params, options, context }) => {
      const list = {
        route: 'listObjects',
        params,
        query: { repo: options.repo },
        items: 'objects',
        options: { ...options, pageSize: options.pageSize ?? pageSizeMax },
      } as const;
      const first = extremesOf(options);
      if (first) await printExtremes(context, { pages: eachPage(client, list), first, isJson: options.json });
      else if (options.json) await printList(context, client, { ...list, render: () => '' });
      else await printObjects(context, client, eachPage(client, list));
    },
  }),
  30: actionCommand({
    name: 'delete',
    description: 'Delete objects of a repo after a grace time; until then you can keep them',
    operands: {
      ...ofRepo,
      oids: operand('<oid...>', 'SHA-256 of an object, as `git lfs ls-files -al` shows it', collectOids),
    },
    isExplicit: true,
    options: {
      ...deleteOptions,
      wait: flag('--wait', "wait until they're deleted"),
    },
    run: async (client, { operands: { oids, ...place }, options, context }) => {
      const where = `${place.tenant}/${place.repo}`;
      const deleted = await runDelete(context, {
        client,
        options,
        route: 'deleteObject',
        requests: oids.map((oid) => ({ params: { ...place, oid } })),
        question: `Delete ${oids.length === 1 ? 'it' : 'them'}? [y/N] `,
        isYes: saysYes,
        summary: (plans) => dueText(plans, { where, nowMs: context.nowMs() }),
      });
      if (deleted === undefined || !options.wait) return;
      const objects = deleted.map((plan, index) => ({ ...place, oid: oids[index] ?? '', plan }));
      await waitUntilGone({ client, context }, { where, objects, isQuiet: options.json === true });
    },
  }),
  40: actionCommand({
    name: 'keep',
    description: 'Cancel the deletion of objects',
    operands: { ...ofRepo, oids: operand('<oid...>', 'as `deletion list` shows them', collectOids) },
    isExplicit: true,
    wanted: 'a token of the repo with the scope write',
    run: async (client, { operands: { oids, ...place }, options, context }) => {
      for (const oid of oids) {
        const { body, text } = await client.ask('keepObject', { params: { ...place, oid } });
        context.out(
          options.json
            ? `${text}\n`
            : `${oid} is no longer scheduled for deletion (${formatBytes(body.sizeBytes)}).\n`,
        );
      }
    },
  }),
};

/** `object list|delete|keep`, and what subjects have. */
export const objectCommands = (subjects: readonly CliSubject[]) =>
  group(
    'object',
    'List, search, delete or keep objects',
    rowsOf(
      rows,
      subjects.map(({ object }) => object),
    ),
  );

function dueText(
  plans: readonly DeletePlanBody[],
  { where, nowMs }: { where: string; nowMs: number },
): string {
  const dueAt = plans.map((plan) => plan.dueAt).reduce((last, at) => (at > last ? at : last), '');
  const isHeld = plans.some((plan) => plan.waitsFor === 'uploads');
  const reason = isHeld ? ', after its upload URLs expire' : '';
  const them = plans.length === 1 ? 'it' : 'them';
  return (
    `${where}: ${formatFreed(plans)}.\n` +
    `The deletion is due ${formatUntil(dueAt, nowMs)}${reason}. To keep ${them}, push ${them} again or run \`object keep\` before then.\n`
  );
}

type Pages = AsyncIterable<{ readonly body: ObjectPageBody }>;

/** Page by page. */
async function printObjects(context: CliContext, { busy }: ApiClient, pages: Pages): Promise<void> {
  const sum = { objectCount: 0, bytes: 0 };
  for await (const { body } of pages) {
    busy.hide();
    context.out(objectLines(allOf(body), viewOf(context)));
    addTo(sum, body);
  }
  context.out(totalText(sum));
}

async function printExtremes(
  context: CliContext,
  { pages, first, isJson = false }: { pages: Pages; first: FirstObjects; isJson: boolean | undefined },
): Promise<void> {
  const sum = { objectCount: 0, bytes: 0 };
  const others: ObjectPageBody['others'] = [];
  for await (const { body } of pages) {
    for (const object of allOf(body)) first.add(object);
    others.push(...body.others);
    addTo(sum, body);
  }
  const objects = first.sorted();
  if (isJson) return context.out(`${JSON.stringify({ objects, others, nextCursor: null })}\n`);
  if (objects.length > 0) context.out(extremesTable(objects, viewOf(context)));
  context.out(totalText(sum));
}

function addTo(sum: { objectCount: number; bytes: number }, page: ObjectPageBody): void {
  const objects = allOf(page);
  sum.objectCount += objects.length;
  sum.bytes += bytesOf(objects);
}

const totalText = (sum: { objectCount: number; bytes: number }) =>
  sum.objectCount === 0 ? 'No objects yet.\n' : `Total: ${formatSum(sum)}.\n`;

interface Extremes {
  readonly largest: number | undefined;
  readonly oldest: number | undefined;
}

/** Those that come first. undefined: all are listed. */
function extremesOf({ largest, oldest }: Extremes): FirstObjects | undefined {
  if (largest !== undefined) return firstObjects(largest, (a, b) => b.sizeBytes - a.sizeBytes);
  // ISO dates of one form compare as text. What has none comes last.
  const compare = (a: ObjectBody, b: ObjectBody) => ((a.storedAt ?? '~') < (b.storedAt ?? '~') ? -1 : 1);
  return oldest === undefined ? undefined : firstObjects(oldest, compare);
}

const extremesTable = tableOf<ObjectBody>([
  ['oid', nameOf],
  ['size', ({ sizeBytes }) => formatBytes(sizeBytes), right],
  ['stored', ({ storedAt }, { nowMs }) => (storedAt === null ? '-' : formatAge(storedAt, nowMs))],
  ['repo', ({ repo }) => repo, least(16)],
]);

/** There may be millions, so no table is made of them all: a page at a time, in columns of one width. */
function objectLines(objects: readonly ObjectBody[], view: View): string {
  const rows = objects.map((object) => [
    nameOf(object),
    formatBytes(object.sizeBytes).padStart(sizeCharacters),
    object.repo,
  ]);
  return renderTable(['oid', 'size', { name: 'repo', least: 16 }], rows, { ...view, hasHeading: false });
}

/** The oids in the order of the command line, without repeats. */
function collectOids(text: string, before: readonly string[] = []): readonly string[] {
  const oid = parseOid(text);
  return before.includes(oid) ? before : [...before, oid];
}

type FirstObjects = ReturnType<typeof firstObjects>;

/** Keeps the first `countMax` of many objects in an order, without holding them all. */
function firstObjects(countMax: number, compare: (a: ObjectBody, b: ObjectBody) => number) {
  let objects: ObjectBody[] = [];
  const sorted = () => objects.sort(compare).slice(0, countMax);
  const add = (object: ObjectBody) => {
    objects.push(object);
    // Sorted now and then: each costs as little as it would if all were sorted at the end.
    if (objects.length >= 2 * countMax + 100) objects = sorted();
  };
  return { add, sorted };
}

const redrawMs = 1000;
/** How often it is asked whether an object is still there, and marked: before it is due, */
const lookMs = 60_000;
/** and from then on. */
const dueLookMs = 10_000;

/** An object that is marked for deletion. */
interface MarkedObject {
  readonly oid: string;
  readonly tenant: string;
  readonly repo: string;
  readonly plan: DeletePlanBody;
}

/** What the last look at it found. */
interface Going extends MarkedObject {
  /** It was due later than by the look before. */
  readonly isLater: boolean;
}

/**
 * Waits until marked objects are gone, and shows how many are left.
 *
 * @throws {CliError} if some were pushed again meanwhile, which keeps them. The others are gone.
 */
async function waitUntilGone(
  { client, context }: { client: ApiClient; context: CliContext },
  wait: { where: string; objects: readonly MarkedObject[]; isQuiet: boolean },
): Promise<void> {
  const { where, objects } = wait;
  const line = new WaitLine(context, wait);
  const kept: string[] = [];
  let left: readonly Going[] = objects.map((object) => ({ ...object, isLater: false }));
  let lookedMs = context.nowMs();
  while (left.length > 0) {
    const nowMs = context.nowMs();
    const isDue = left.some(({ plan }) => Date.parse(plan.dueAt) <= nowMs);
    if (nowMs - lookedMs >= (isDue ? dueLookMs : lookMs)) {
      lookedMs = nowMs;
      const still: Going[] = [];
      for (const object of left) {
        const found = await lookAt(client, object);
        if (found === 'kept') kept.push(object.oid);
        else if (found !== 'gone') still.push(found);
      }
      left = still;
      continue;
    }
    line.show(leftText(left, { nowMs, inPlace: line.inPlace }));
    await context.sleep(redrawMs);
  }
  const goneCount = objects.length - kept.length;
  line.end(`${where}: ${formatObjects(goneCount)} deleted.`);
  if (kept.length === 0) return;
  throw new CliError(`Kept, because it was pushed again: ${kept.join(' ')}`, {
    hint: 'To delete it anyway, delete it again.',
  });
}

/**
 * An object that was pushed again is not marked any more, so with every look it would be due a grace time later. One
 * that is marked keeps its time, but for once: if an upload holds it when it is due, it gets a new one.
 */
async function lookAt(client: ApiClient, object: Going): Promise<Going | 'gone' | 'kept'> {
  const { tenant, repo, oid } = object;
  // A dry run says whether the object is there, and when it is due.
  const plan = await client.find('deleteObject', { params: { tenant, repo, oid }, query: { dryRun: true } });
  if (plan === undefined) return 'gone';
  const isLater = Date.parse(plan.dueAt) > Date.parse(object.plan.dueAt);
  return isLater && object.isLater ? 'kept' : { ...object, plan, isLater };
}

function leftText(left: readonly Going[], { nowMs, inPlace }: { nowMs: number; inPlace: boolean }): string {
  const bytes = left.reduce((sum, { plan }) => sum + (plan.bytes ?? 0), 0);
  const size = `${formatObjects(left.length)} left, ${formatBytes(bytes)}`;
  const dueAt = left.map(({ plan }) => plan.dueAt).reduce((last, at) => (at > last ? at : last));
  if (Date.parse(dueAt) <= nowMs) return `${size}; deleted with the next run of the schedule`;
  return `${size}, due ${inPlace ? formatUntil(dueAt, nowMs) : `at ${dueAt}`}`;
}

export const deletionCommands = group('deletion', 'List scheduled deletions', [
  listCommand({
    name: 'list',
    description: 'List objects scheduled for deletion; a push of one keeps it',
    route: 'listDeletions',
    operands: { tenant: tenantOperand },
    options: { repo: option('--repo <repo>', 'only those of this repo', parseRepo) },
    items: 'deletions',
    query: ({ options }) => ({ repo: options.repo }),
    none: 'No scheduled deletions.\n',
    print: renderDeletions,
  }),
]);

const deletionsTable = tableOf<BodyOf<'listDeletions'>['deletions'][number]>([
  ['oid', ({ oid }) => oid],
  ['size', ({ sizeBytes }) => formatBytes(sizeBytes), right],
  ['deleted', ({ state, dueAt }, { nowMs }) => (state === 'deleting' ? state : formatUntil(dueAt, nowMs))],
  ['repo', ({ repo }) => repo, least(16)],
]);

function renderDeletions(deletions: BodyOf<'listDeletions'>['deletions'], view: View): string {
  const sum = { objectCount: deletions.length, bytes: bytesOf(deletions) };
  return `${deletionsTable(deletions, view)}Total: ${formatSum(sum)}. To keep one, push it again or run \`object keep\` before then.\n`;
}
