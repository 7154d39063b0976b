import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import { storageClasses } from '../../lambda/core/store/rules/storage-class.ts';
import type { ApiClient, BodyOf } from '../api-client.ts';
import { least, right, tableOf } from '../columns.ts';
import {
  actionCommand,
  choiceOperand,
  flag,
  group,
  listCommand,
  ofRepo,
  operand,
  option,
  required,
  routeCommand,
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
import { parseLimit, parseLimitOption } from '../options.ts';
import { WaitLine } from '../progress.ts';
import { formatAge, formatCount, formatLimit, formatObjects, formatUntil } from '../render.ts';
import { type View, viewOf } from '../terminal.ts';

type RepoBody = BodyOf<'getRepo'>;

const nameOf = ({ tenant, repo }: RepoPlace) => `${tenant}/${repo}`;
const print = (body: RepoBody, { view }: { view: View }) => renderRepos([body], view);
export const readThroughFlag = flag('--read-through', "download from there what isn't here yet");
export const storageClassOperand = (none: string) =>
  choiceOperand('<class>', `one that the store has; ${none}`, [...storageClasses, 'none'] as const);
/** Of a command that changes one. */
const change = { route: 'updateRepo', operands: ofRepo } as const;

/** `repo create|list|show|limit|storage-class|public|private|link|unlink|delete`. */
export const repoCommands = group('repo', 'Create, limit, share, link or delete repos', [
  routeCommand({
    name: 'create',
    description: "Create a repo: only needed if pushes can't, or to limit it first",
    route: 'createRepo',
    operands: ofRepo,
    options: { limit: option('--limit <size>', 'its own limit, such as 10GiB', parseLimit) },
    body: ({ operands: { repo }, options }) => ({ repo, limitBytes: options.limit }),
    print,
  }),
  listCommand({
    name: 'list',
    description: "List a tenant's repos, the largest first; with --json by name",
    route: 'listRepos',
    operands: { tenant: tenantOperand },
    items: 'repos',
    none: 'No repos yet. The first push creates one.\n',
    print: renderRepos,
  }),
  actionCommand({
    name: 'show',
    description: 'Show one repo, and what it lacks of a clone',
    operands: ofRepo,
    options: { clone: option('--clone <dir>', 'list what its branches and tags need, and the repo lacks') },
    async run(client, { operands, options: { clone, json }, context }) {
      const { body, text } = await client.ask('getRepo', { params: operands });
      const compared = clone === undefined ? undefined : await compareClone(client, { ...operands, clone });
      if (json) context.out(`${compared ? JSON.stringify({ ...body, clone: compared }) : text}\n`);
      else {
        const shown = print(body, { view: viewOf(context) }) + copiesText(body);
        context.out(compared ? shown + cloneText(compared) : shown);
      }
    },
  }),
  routeCommand({
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
  routeCommand({
    ...change,
    name: 'storage-class',
    description: "Set the storage class of new objects, before its tenant's",
    operands: { ...ofRepo, class: storageClassOperand("none: the tenant's") },
    wanted: 'the admin token',
    body: ({ operands }) => ({ storageClass: operands.class === 'none' ? null : operands.class }),
    print,
  }),
  routeCommand({
    ...change,
    name: 'public',
    description: 'Let anyone download from a repo, without a token',
    options: {
      ...limitOptions,
      limit: required(
        option(
          '--limit <size>',
          'monthly limit of anonymous downloads, such as 100GiB; or unlimited',
          parseLimitOption,
        ),
      ),
    },
    before: (client, { operands: params, options, context }) =>
      confirmLimit(context, options, {
        bytes: options.limit.bytes,
        readUsed: async () => (await client.find('getRepo', { params }))?.publicRead?.month?.bytes ?? null,
        warning: (used, limit) =>
          `${nameOf(params)} used ${used} this month, above the new limit of ${limit}. Public downloads fail until next month.`,
      }),
    body: ({ options }) => ({ publicRead: { monthlyLimitBytes: options.limit.bytes } }),
    print: (body, { operands }) => publicText(nameOf(operands), body),
  }),
  routeCommand({
    ...change,
    name: 'private',
    description: 'Require a token for downloads again',
    body: () => ({ publicRead: null }),
    print: (body, { operands }) => publicText(nameOf(operands), body),
  }),
  routeCommand({
    ...change,
    name: 'link',
    description: 'Link a repo to a repository on a git host: its users can log in',
    operands: {
      ...ofRepo,
      host: operand('<host>', 'id of a configured git host, such as github'),
      name: operand('<name>', 'full name of the repository there, such as acme/game'),
    },
    options: {
      repoId: option('--repo-id <number>', 'its number there (default: stored at first use)'),
      readThrough: readThroughFlag,
    },
    body: ({ operands: { host, name: repo }, options: { repoId, readThrough } }) => ({
      gitHost: { host, repo, repoId, readThrough },
    }),
    print: (body, { operands }) => linkedText(nameOf(operands), body),
  }),
  routeCommand({
    ...change,
    name: 'unlink',
    description: 'Unlink a repo from its git host',
    body: () => ({ gitHost: null }),
    print: (body, { operands }) => linkedText(nameOf(operands), body),
  }),
  actionCommand({
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
        params: [params],
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
]);

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
  const needs = `The clone needs ${formatObjects(objects)}, ${formatBytes(bytes)}.`;
  if (missing.objects === 0) return `${needs} All of them are here.\n`;
  const shown = missing.oids.slice(0, shownOidsMax).map((oid) => `  ${oid}\n`);
  const more = missing.objects - shown.length;
  return [
    `${needs} Missing here: ${formatObjects(missing.objects)}, ${formatBytes(missing.bytes)}.\n`,
    ...shown,
    ...(more > 0 ? [`  … and ${formatCount(more)} more: --json lists all\n`] : []),
  ].join('');
}

function copiesText({ copies }: RepoBody): string {
  if (!copies) return '';
  const { queued, failed } = copies;
  const parts = [
    ...(queued > 0 ? [`${formatCount(queued)} waiting`] : []),
    ...(failed > 0 ? [`${formatCount(failed)} failed within a day`] : []),
  ];
  return `Copies from another server: ${parts.join(', ')}.\n`;
}

function publicText(path: string, { publicRead }: RepoBody): string {
  if (!publicRead) return `${path} is private. URLs issued earlier work for up to 30 more minutes.\n`;
  const { monthlyLimitBytes, month } = publicRead;
  const ceiling =
    monthlyLimitBytes === null ? 'without a limit' : `up to ${formatLimit(monthlyLimitBytes)} a month`;
  const offered = month && month.bytes > 0 ? ` In ${month.month} so far: ${formatBytes(month.bytes)}.` : '';
  return `${path} is public: anyone can download from it, ${ceiling}.${offered}\n`;
}

function linkedText(path: string, { gitHost }: RepoBody): string {
  if (!gitHost) return `${path} isn't linked to a git host any more. Users need a token of the tenant.\n`;
  const number = gitHost.repoId === null ? '' : ` (number ${gitHost.repoId})`;
  return `${path} is linked to ${gitHost.repo}${number} on ${gitHost.host}: its users can pull and push here as they can there, with their own tokens.\n${readThroughText(gitHost)}`;
}

/** @param link of a repo or a tenant. */
export function readThroughText({ readThrough }: { readThrough?: true | undefined }): string {
  return readThrough ? "What's missing here is downloaded from there, with the user's token.\n" : '';
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
  const isAnyPublic = repos.some(({ publicRead }) => publicRead !== undefined);
  const isAnyLinked = repos.some(({ gitHost }) => gitHost !== undefined);
  const table = tableOf<RepoBody>([
    ['repo', shownName, least(16)],
    ['stored', ({ storedBytes }) => bytesOrNone(storedBytes), right],
    ...(hasLimits ? [['limit', ({ limitBytes }: RepoBody) => bytesOrNone(limitBytes), right] as const] : []),
    ['objects', ({ objectCount }) => (objectCount === null ? '-' : formatCount(objectCount)), right],
    ['scanned', scannedCell],
    ...(hasClasses ? [['class for new', ({ storageClass }: RepoBody) => storageClass ?? '-'] as const] : []),
    ...(isAnyPublic ? [['public', publicCell] as const] : []),
    ...(isAnyLinked ? [['git host', hostCell, least(16)] as const] : []),
  ]);
  return table(
    [...repos].sort((a, b) => (b.storedBytes ?? 0) - (a.storedBytes ?? 0)),
    view,
  );
}

const bytesOrNone = (bytes: number | null) => (bytes === null ? '-' : formatBytes(bytes));
const hostCell = ({ gitHost }: RepoBody) => (gitHost ? `${gitHost.host} ${gitHost.repo}` : '-');

function scannedCell({ scannedAt, uploading }: RepoBody, { nowMs }: View): string {
  if (scannedAt !== null) return formatAge(scannedAt, nowMs);
  return uploading ? 'uploading' : 'never';
}

function publicCell({ publicRead }: RepoBody): string {
  if (!publicRead) return '-';
  const { monthlyLimitBytes } = publicRead;
  return monthlyLimitBytes === null ? 'unlimited' : `${formatBytes(monthlyLimitBytes)} a month`;
}

function shownName({ repo, deleting }: RepoBody): string {
  // Keys directly below the tenant belong to no repo.
  const name = repo === '' ? '(no repo)' : repo;
  return deleting ? `${name} (being deleted)` : name;
}
