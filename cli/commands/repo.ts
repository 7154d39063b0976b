import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import { storageClasses } from '../../lambda/core/store/rules/storage-class.ts';
import type { ApiClient } from '../api-client.ts';
import { least, right, tableOf } from '../columns.ts';
import {
  actionCommand,
  type CliSubject,
  choice,
  choiceOperand,
  flag,
  group,
  listCommand,
  ofRepo,
  operand,
  option,
  type RepoBody,
  type RepoPart,
  type Rows,
  routeCommand,
  rowsOf,
  tenantOperand,
} from '../command.ts';
import {
  confirmLimit,
  type DeletePlanBody,
  deleteOptions,
  formatFreed,
  limitOptions,
  runDelete,
  saysYes,
} from '../confirm.ts';
import type { CliContext } from '../context.ts';
import { checkClone } from '../git/clone.ts';
import type { LfsObject, RepoPlace } from '../lfs-batch.ts';
import { bytesOf, objectsOfClone, objectsOfRepo } from '../move/objects.ts';
import { parseLimit } from '../options.ts';
import { WaitLine } from '../progress.ts';
import { firstLines, formatAge, formatCount, formatObjects, formatSum, formatUntil } from '../render.ts';
import { type View, viewOf } from '../terminal.ts';

export const nameOf = ({ tenant, repo }: RepoPlace) => `${tenant}/${repo}`;
export const storageClassOperand = (none: string) =>
  choiceOperand('<class>', `one that the store has; ${none}`, [...storageClasses, 'none'] as const);
/** Of a command that changes one. */
export const change = { route: 'updateRepo', operands: ofRepo } as const;

/** What tables and `repo show` have of subjects: the program adds it. */
export const repoParts: RepoPart[] = [];

const print = (body: RepoBody, { view }: { view: View }) => renderRepos([body], view);

const rows: Rows = {
  10: routeCommand({
    name: 'create',
    description: "Create a repo: of files, if pushes can't, or to limit it first",
    route: 'createRepo',
    operands: ofRepo,
    options: {
      limit: option('--limit <size>', 'its own limit, such as 10GiB', parseLimit),
      kind: choice('--kind <kind>', 'files: for any files, without Git (default: lfs)', ['lfs', 'files']),
    },
    body: ({ operands: { repo }, options }) => ({ repo, limitBytes: options.limit, kind: options.kind }),
    print,
  }),
  20: listCommand({
    name: 'list',
    description: "List a tenant's repos, the largest first; with --json by name",
    route: 'listRepos',
    operands: { tenant: tenantOperand },
    items: 'repos',
    none: 'No repos yet. The first push creates one.\n',
    print: renderRepos,
  }),
  30: actionCommand({
    name: 'show',
    description: 'Show one repo, and what it lacks of a clone',
    operands: ofRepo,
    options: {
      clone: option('--clone <dir>', 'list what its branches and tags need, and the repo lacks'),
    },
    async run(client, { operands, options: { clone, json }, context }) {
      const { body, text } = await client.ask('getRepo', { params: operands });
      const compared = clone === undefined ? undefined : await compareClone(client, { ...operands, clone });
      if (json) context.out(`${compared ? JSON.stringify({ ...body, clone: compared }) : text}\n`);
      else {
        const below = repoParts.map(({ about }) => about?.(body) ?? '').join('');
        const shown = print(body, { view: viewOf(context) }) + below;
        context.out(compared ? shown + cloneText(compared) : shown);
      }
    },
  }),
  40: routeCommand({
    ...change,
    name: 'limit',
    description: "Change a repo's own storage limit, in addition to its tenant's",
    operands: {
      ...ofRepo,
      size: operand('<size>', 'the new limit, such as 10GiB, or unlimited', parseLimit),
    },
    options: limitOptions,
    before: (client, { operands: { size: bytes, ...params }, options, context }) =>
      confirmLimit(context, options, {
        bytes,
        readUsed: async () => (await client.find('getRepo', { params }))?.storedBytes ?? null,
        warning: (used, limit, excess) =>
          `${nameOf(params)} stores ${used}, above the new limit of ${limit}. Uploads fail until you delete ${excess}.`,
      }),
    body: ({ operands }) => ({ limitBytes: operands.size }),
    print,
  }),
  50: routeCommand({
    ...change,
    name: 'storage-class',
    description: "Set the storage class of new objects, before its tenant's",
    operands: { ...ofRepo, class: storageClassOperand("none: the tenant's") },
    wanted: 'the admin token',
    body: ({ operands }) => ({ storageClass: operands.class === 'none' ? null : operands.class }),
    print,
  }),
  90: actionCommand({
    name: 'delete',
    description: 'Delete a repo and all of its objects',
    operands: ofRepo,
    isExplicit: true,
    options: {
      ...deleteOptions,
      wait: flag('--wait', 'wait until the repo is empty'),
    },
    run: async (client, { operands: params, options, context }) => {
      const deleted = await runDelete(context, {
        client,
        options,
        route: 'deleteRepo',
        requests: [{ params }],
        question: 'Delete it? [y/N] ',
        isYes: saysYes,
        summary: (plans) =>
          `${nameOf(params)}: ${formatFreed(plans)}.\n` +
          `Pushes and pulls fail until it is empty.\n${heldText(plans[0], context.nowMs())}`,
      });
      if (deleted === undefined) return;
      const isQuiet = options.json === true;
      if (options.wait) await waitUntilEmpty({ client, context }, { params, isQuiet, plan: deleted[0] });
      else if (!isQuiet)
        context.out(
          `Its objects are being deleted. See what's left: ${context.program} repo list ${params.tenant}\n`,
        );
    },
  }),
};

/** `repo create|list|show|limit|storage-class|delete`, and what subjects have. */
export const repoCommands = (subjects: readonly CliSubject[]) =>
  group(
    'repo',
    'Create, limit, share, link or delete repos',
    rowsOf(
      rows,
      subjects.map(({ repo }) => repo),
    ),
  );

interface ComparedClone {
  /** What the clone needs. */
  readonly objects: number;
  readonly bytes: number;
  readonly missing: { readonly objects: number; readonly bytes: number; readonly oids: readonly string[] };
}

/** Lists the repo, as downloads would count to the month. @throws {CliError} */
async function compareClone(
  client: ApiClient,
  { clone, ...place }: RepoPlace & { clone: string },
): Promise<ComparedClone> {
  await checkClone(clone, []);
  const needed = await client.busy.during(
    () => `reading ${clone}`,
    () => objectsOfClone(clone),
  );
  const stored = new Set((await objectsOfRepo(client, place)).map(({ oid }) => oid));
  const missing = needed.filter(({ oid }) => !stored.has(oid));
  const sums = (objects: readonly LfsObject[]) => ({ objects: objects.length, bytes: bytesOf(objects) });
  return { ...sums(needed), missing: { ...sums(missing), oids: missing.map(({ oid }) => oid) } };
}

const shownOidsMax = 10;

function cloneText({ objects, bytes, missing }: ComparedClone): string {
  const needs = `The clone needs ${formatSum({ objectCount: objects, bytes })}.`;
  if (missing.objects === 0) return `${needs} All of them are here.\n`;
  const shown = firstLines(missing.oids, shownOidsMax, ': --json lists all').map((line) => `  ${line}\n`);
  const lacks = formatSum({ objectCount: missing.objects, bytes: missing.bytes });
  return `${needs} Missing here: ${lacks}.\n${shown.join('')}`;
}

const pollMs = 2000;

async function waitUntilEmpty(
  { client, context }: { client: ApiClient; context: CliContext },
  wait: { params: RepoPlace; isQuiet: boolean; plan: DeletePlanBody | undefined },
): Promise<void> {
  const { params, plan } = wait;
  const line = new WaitLine(context, wait);
  for (;;) {
    const left = await client.find('getRepo', { params });
    if (left?.deleting !== true || isEmpty(left, plan?.dueAt ?? '')) break;
    const now = { nowMs: context.nowMs(), inPlace: line.inPlace };
    line.show(`${leftText(left)}${waitText(plan, now)}`);
    await context.sleep(pollMs);
  }
  line.end(`${nameOf(params)} is empty. You can reuse its name in a minute or two.`);
}

function leftText(left: RepoBody): string {
  if (left.objectCount === null) return 'not scanned yet';
  return `${formatObjects(left.objectCount)} left, ${formatBytes(left.storedBytes ?? 0)}`;
}

/** What the delete waits for. Where lines cannot be redrawn, it says the time and does not count down. */
function waitText(
  plan: DeletePlanBody | undefined,
  { nowMs, inPlace }: { nowMs: number; inPlace: boolean },
): string {
  if (plan?.waitsFor === undefined) return '';
  if (Date.parse(plan.dueAt) <= nowMs) return '; the rest is deleted with the next run of the schedule';
  const until = inPlace ? formatUntil(plan.dueAt, nowMs) : `at ${plan.dueAt}`;
  return `; uploads to it are in progress, and the rest is deleted ${until}`;
}

function heldText(plan: DeletePlanBody | undefined, nowMs: number): string {
  if (plan?.waitsFor === undefined) return '';
  return `Recent uploads are deleted after their URLs expire: the last one ${formatUntil(plan.dueAt, nowMs)}, at ${plan.dueAt}.\n`;
}

/** Whether a count after the deletion found nothing. ISO dates of one form compare as text. */
function isEmpty(repo: RepoBody, deletedAt: string): boolean {
  return repo.objectCount === 0 && repo.scannedAt !== null && repo.scannedAt >= deletedAt;
}

/** A table of repos, the largest first. */
export function renderRepos(repos: readonly RepoBody[], view: View): string {
  // Most tenants limit none.
  const hasLimits = repos.some(({ limitBytes }) => limitBytes !== null);
  const hasClasses = repos.some(({ storageClass }) => storageClass !== undefined);
  const table = tableOf<RepoBody>([
    ['repo', shownName, least(16)],
    ['stored', ({ storedBytes }) => bytesOrNone(storedBytes), right],
    ...(hasLimits ? [['limit', ({ limitBytes }: RepoBody) => bytesOrNone(limitBytes), right] as const] : []),
    ['objects', ({ objectCount }) => (objectCount === null ? '-' : formatCount(objectCount)), right],
    ['scanned', scannedCell],
    ...(hasClasses ? [['class for new', ({ storageClass }: RepoBody) => storageClass ?? '-'] as const] : []),
    ...repoParts.filter(({ isOf }) => repos.some(isOf)).map(({ column }) => column),
  ]);
  return table(
    [...repos].sort((a, b) => (b.storedBytes ?? 0) - (a.storedBytes ?? 0)),
    view,
  );
}

const bytesOrNone = (bytes: number | null) => (bytes === null ? '-' : formatBytes(bytes));

function scannedCell({ scannedAt, uploading }: RepoBody, { nowMs }: View): string {
  if (scannedAt !== null) return formatAge(scannedAt, nowMs);
  return uploading ? 'uploading' : 'never';
}

function shownName({ repo, deleting }: RepoBody): string {
  // Keys directly below the tenant belong to no repo.
  const name = repo === '' ? '(no repo)' : repo;
  return deleting ? `${name} (being deleted)` : name;
}
