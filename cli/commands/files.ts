import { oidPattern } from '../../lambda/core/rules/names.ts';
import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import type { ApiClient, BodyOf } from '../api-client.ts';
import { least, right, tableOf } from '../columns.ts';
import {
  actionCommand,
  type CliSubject,
  flag,
  group,
  type OptionsOf,
  operand,
  type Rows,
  rowsOf,
} from '../command.ts';
import { type DeletePlanBody, deleteOptions, formatFreed, runDelete, saysYes } from '../confirm.ts';
import type { CliContext } from '../context.ts';
import { CliError, UsageError } from '../errors.ts';
import type { RepoPlace } from '../lfs-batch.ts';
import { eachPage, type ListOptions, pageSizeMax, printList, withListOptions } from '../list-pages.ts';
import { bytesOf } from '../move/objects.ts';
import { collect } from '../options.ts';
import { explicitPlace, ofPlace, tenantPlaceOf } from '../place.ts';
import { WaitLine } from '../progress.ts';
import { formatAge, formatCounted, formatObjects, formatSum, formatUntil } from '../render.ts';
import { renderTable } from '../table.ts';
import { type View, viewOf } from '../terminal.ts';

/** What repos hold: objects of Git LFS, whose names are their oids, and files. */

type PlaceOptions = OptionsOf<typeof ofPlace> & ListOptions;

/** What is stored, by repo and name: a page at a time, as there may be millions. */
export async function listStored(
  client: ApiClient,
  context: CliContext,
  options: PlaceOptions,
): Promise<void> {
  const { tenant, repo } = await tenantPlaceOf(client, context, options);
  const list = {
    route: 'listObjects',
    params: { tenant },
    query: { repo },
    items: 'objects',
    options: { ...options, pageSize: options.pageSize ?? pageSizeMax },
  } as const;
  if (options.json) return printList(context, client, { ...list, render: () => '' });
  const sum = { objects: 0, files: 0, bytes: 0 };
  for await (const { body } of eachPage(client, list)) {
    client.busy.hide();
    const objects = body.objects.map(({ oid, ...object }) => ({ ...object, name: oid }));
    const all = [...objects, ...(body.files ?? [])];
    context.out(linesOf(all, { view: viewOf(context), isOfRepo: repo !== undefined }));
    sum.objects += objects.length;
    sum.files += all.length - objects.length;
    sum.bytes += bytesOf(all);
  }
  const counts = [
    ...(sum.objects > 0 ? [formatObjects(sum.objects)] : []),
    ...(sum.files > 0 ? [formatCounted(sum.files, 'file')] : []),
  ];
  context.out(
    counts.length === 0
      ? 'Nothing is stored yet.\n'
      : `Total: ${[...counts, formatBytes(sum.bytes)].join(', ')}.\n`,
  );
}

interface Stored {
  readonly name: string;
  readonly sizeBytes: number;
  readonly storedAt: string | null;
  readonly repo?: string;
}

/** `1023.99 GiB`; `1204 days ago`. */
const [sizeCharacters, ageCharacters] = [11, 13];

/** No table of them all, but a page in columns of one width. @param input.isOfRepo they're all of one repo. */
export function linesOf(
  stored: readonly Stored[],
  { view, isOfRepo }: { view: View; isOfRepo: boolean },
): string {
  const rows = stored.map(({ name, sizeBytes, storedAt, repo = '' }) => [
    formatBytes(sizeBytes).padStart(sizeCharacters),
    (storedAt === null ? '-' : formatAge(storedAt, view.nowMs)).padEnd(ageCharacters),
    ...(isOfRepo ? [] : [repo]),
    name,
  ]);
  const repo = { name: 'repo', least: 16 };
  const columns = ['size', 'stored', ...(isOfRepo ? [] : [repo]), { name: 'name', least: 16, stays: true }];
  return renderTable(columns, rows, { ...view, hasHeading: false });
}

export const deleteObjectOptions = {
  ...explicitPlace,
  ...deleteOptions,
  wait: flag('--wait', "wait until they're deleted; files are deleted at once"),
};

/** Deletes objects of Git LFS after the grace time. @throws {UsageError} if one of them is no oid. */
export async function deleteObjects(
  client: ApiClient,
  context: CliContext,
  input: { oids: readonly string[]; options: OptionsOf<typeof deleteObjectOptions> & { json?: boolean } },
): Promise<void> {
  const { options } = input;
  const place = { tenant: options.tenant, repo: options.repo };
  const oids = oidsIn(input.oids, place);
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
}

/** In their order, without repeats. @throws {UsageError} */
function oidsIn(names: readonly string[], { tenant, repo }: RepoPlace): readonly string[] {
  const wrong = names.find((name) => !oidPattern.test(name));
  if (wrong === undefined) return [...new Set(names)];
  throw new UsageError(
    `${wrong} isn't an oid, which has 64 lower-case hex digits. Look it up: lfs-quota files list --tenant ${tenant} --repo ${repo}`,
  );
}

const oidsOperand = operand('<oid...>', 'SHA-256 of an object, as `git lfs ls-files -al` shows it', collect);

const rows: Rows = {
  10: actionCommand({
    name: 'list',
    description: 'List what is stored, by repo and name; of Git LFS, by oid',
    base: withListOptions,
    options: ofPlace,
    run: (client, { options, context }) => listStored(client, context, options),
  }),
  30: actionCommand({
    name: 'delete',
    description: 'Delete objects after a grace time; until then you can keep them',
    operands: { oids: oidsOperand },
    options: deleteObjectOptions,
    run: (client, { operands: { oids }, options, context }) =>
      deleteObjects(client, context, { oids, options }),
  }),
  40: actionCommand({
    name: 'keep',
    description: 'Cancel the deletion of Git LFS objects',
    operands: { oids: oidsOperand },
    options: explicitPlace,
    wanted: 'a token of the repo with the scope write',
    run: async (client, { operands, options, context }) => {
      const place = { tenant: options.tenant, repo: options.repo };
      for (const oid of oidsIn(operands.oids, place)) {
        const { body, text } = await client.ask('keepObject', { params: { ...place, oid } });
        context.out(
          options.json
            ? `${text}\n`
            : `${oid} is no longer scheduled for deletion (${formatBytes(body.sizeBytes)}).\n`,
        );
      }
    },
  }),
  50: actionCommand({
    name: 'deletions',
    description: 'List scheduled deletions of Git LFS objects; a push of one keeps it',
    base: withListOptions,
    options: ofPlace,
    run: async (client, { options, context }) => {
      const { tenant, repo } = await tenantPlaceOf(client, context, options);
      await printList(context, client, {
        route: 'listDeletions',
        params: { tenant },
        query: { repo },
        items: 'deletions',
        options,
        render: (pages: readonly BodyOf<'listDeletions'>[]) => {
          const all = pages.flatMap(({ deletions }) => deletions);
          return all.length === 0 ? 'No scheduled deletions.\n' : renderDeletions(all, viewOf(context));
        },
      });
    },
  }),
};

/** `files`: what is stored, and what subjects do with it. */
export const filesCommands = (subjects: readonly CliSubject[]) =>
  group(
    'files',
    'List, search, send, get, delete or keep files',
    rowsOf(
      rows,
      subjects.map(({ files }) => files),
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
    `The deletion is due ${formatUntil(dueAt, nowMs)}${reason}. To keep ${them}, push ${them} again or run \`files keep\` before then.\n`
  );
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

const deletionsTable = tableOf<BodyOf<'listDeletions'>['deletions'][number]>([
  ['oid', ({ oid }) => oid],
  ['size', ({ sizeBytes }) => formatBytes(sizeBytes), right],
  ['deleted', ({ state, dueAt }, { nowMs }) => (state === 'deleting' ? state : formatUntil(dueAt, nowMs))],
  ['repo', ({ repo }) => repo, least(16)],
]);

function renderDeletions(deletions: BodyOf<'listDeletions'>['deletions'], view: View): string {
  const sum = { objectCount: deletions.length, bytes: bytesOf(deletions) };
  return `${deletionsTable(deletions, view)}Total: ${formatSum(sum)}. To keep one, push it again or run \`files keep\` before then.\n`;
}
