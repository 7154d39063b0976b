import { writeFileSync } from 'node:fs';
import { InvalidArgumentError, Option } from 'commander';
import { sha256Hex } from '../../../lambda/core/rules/hash.ts';
import { prefixBytes, prefixesOf } from '../../../lambda/core/rules/prefix-set.ts';
import { formatBytes } from '../../../lambda/core/rules/sizes.ts';
import type { ApiAnswer, ApiClient, BodyOf } from '../../api-client.ts';
import {
  actionCommand,
  type CliSubject,
  flag,
  given,
  group,
  ofRepo,
  option,
  routeCommand,
} from '../../command.ts';
import { asCalled, type CliContext } from '../../context.ts';
import { CliError, UsageError } from '../../errors.ts';
import { checkClone, scanClone } from '../../git/clone.ts';
import type { RepoPlace } from '../../lfs-batch.ts';
import { collect, managerToken } from '../../options.ts';
import { WaitLine, waitUntilEnded } from '../../progress.ts';
import { formatAge, formatCount, formatObjects, formatSum, formatUntil } from '../../render.ts';
import { renderTable } from '../../table.ts';
import { type View, viewOf } from '../../terminal.ts';
import { downloadFailure } from '../../transfer.ts';

type GcBody = BodyOf<'getGc'>;

/** Of a reachable set, or a list of candidates. */
const transferMs = 10 * 60_000;

const shown = (body: GcBody, context: CliContext): string =>
  asCalled(renderGc(body, viewOf(context)), context);

/** Of a command about the gc run of a repo. */
const ofGc = {
  operands: ofRepo,
  print: (body: GcBody, { context }: { context: CliContext }) => shown(body, context),
};

/** `gc open|run|status|cancel`: deletes what no commit of a repo needs any more. */
const gcCommands = group('gc', 'Delete objects no branch or tag references', [
  routeCommand({
    ...ofGc,
    name: 'open',
    description: 'Start garbage collection: pushes protect their objects; run `gc run` a day later',
    route: 'openGc',
    body: () => ({}),
  }),
  routeCommand({
    ...ofGc,
    name: 'status',
    description: 'Show its state and candidates',
    route: 'getGc',
  }),
  routeCommand({
    ...ofGc,
    name: 'cancel',
    description: "Stop it; objects that aren't deleted yet stay",
    route: 'cancelGc',
  }),
  actionCommand({
    name: 'run',
    description: 'Scan a full clone, and show or delete unreferenced objects',
    operands: ofRepo,
    options: {
      clone: given<string>(
        new Option('--clone <dir>', 'a full clone of the repo, made by git clone --mirror').default('.'),
      ),
      remote: option(
        '--remote <name>',
        'remote with refs that the clone must have; repeatable (default: origin)',
        collect,
      ),
      delete: flag('--delete', 'delete; without it, only show'),
      force: flag('--force', "delete even if it's more than half of the bytes"),
      olderThan: option(
        '--older-than <days>',
        'keep objects stored within this many days (default: 7)',
        parseDays,
      ),
      list: option('--list <file>', 'write candidates into this file: oid and bytes'),
      wait: given<boolean>(new Option('--no-wait', "don't wait for the result")),
    },
    wanted: managerToken,
    run: async (client, { operands: params, options, context }) => {
      const { list, json: isQuiet = false } = options;
      if (list !== undefined && !options.wait)
        throw new UsageError('--list needs the result: leave out --no-wait.');
      await checkReady(client, context, params);
      const { bytes, named } = await readReachableSet(client, context, { ...options, isQuiet });
      await client.busy.during(
        () => 'uploading the reachable set',
        () => sendReachableSet(client, { params, bytes, named }),
      );
      const run = async (dryRun: boolean) => {
        const { force = false, olderThan: minAgeDays } = options;
        const body = { reachableSet: named, dryRun, force, minAgeDays };
        const started = await client.ask('runGc', { params, body });
        return options.wait ? waitForRun({ client, context }, { params, isQuiet }) : started;
      };
      let ended = await run(list !== undefined || options.delete !== true);
      // A run that deletes may have ended, and removed its lists, before anybody can read them.
      if (list !== undefined && !failureOf(ended.body)) {
        await client.busy.during(
          () => 'fetching the list',
          () => writeList({ body: ended.body, file: list }),
        );
        if (options.delete) ended = await run(false);
      }
      context.out(isQuiet ? `${ended.text}\n` : shown(ended.body, context));
      const failure = failureOf(ended.body);
      if (failure) throw failure;
    },
  }),
]);

/** @returns why a run deleted nothing, or not all. It may end by its time, or by somebody else's `gc cancel`. */
function failureOf(body: GcBody): CliError | undefined {
  const { failure, state, tenant, repo } = body;
  if (failure)
    return new CliError(`${failedText(body)}.`, { hint: 'Fix the problem above, and run it again.' });
  if (state !== 'expired' && state !== 'cancelled') return undefined;
  return new CliError(`${failedText(body)}: garbage collection is ${state}.`, {
    hint: `Open another one, and run it a day later: lfs-quota gc open ${tenant} ${repo}`,
  });
}

/** Asked before the refs of the remote: those must not be older than the service allows. */
async function checkReady(
  client: ApiClient,
  context: CliContext,
  { tenant, repo }: RepoPlace,
): Promise<void> {
  const gc = await client.find('getGc', { params: { tenant, repo } });
  const isOpen = gc && ['watching', 'selecting', 'deleting'].includes(gc.state);
  if (!isOpen)
    throw new CliError("Garbage collection isn't open.", {
      hint: `Open one first: lfs-quota gc open ${tenant} ${repo}`,
    });
  if (gc.mayRun) return;
  if (gc.state !== 'watching')
    throw new CliError('A run is in progress.', {
      hint: `See its progress: lfs-quota gc status ${tenant} ${repo}`,
    });
  const when = formatUntil(gc.snapshotFrom, context.nowMs());
  throw new CliError(`It's too early: you can run it ${when}.`, {
    hint: 'Until then, a push that started before gc open can still be in progress.',
  });
}

interface ReachableSet {
  readonly bytes: Buffer;
  readonly named: { readonly objects: number; readonly sha256: string };
}

async function readReachableSet(
  client: ApiClient,
  context: CliContext,
  options: { clone: string; remote: readonly string[] | undefined; isQuiet: boolean },
): Promise<ReachableSet> {
  const { clone, remote = ['origin'], isQuiet } = options;
  const line = new WaitLine(context, { isQuiet });
  const commits = await client.busy.during(
    () => `asking for the refs of ${remote.join(', ')}`,
    () => checkClone(clone, remote),
  );
  const { oids, objectCount } = await scanClone(clone, {
    commits,
    onProgress: (count) => {
      if (line.inPlace) line.show(`scanning: ${formatCount(count)} objects of git`);
    },
  });
  const bytes = prefixesOf(oids);
  line.end(
    `The clone needs ${formatObjects(oids.size)} (${formatCount(objectCount)} objects of git scanned).`,
  );
  return { bytes, named: { objects: bytes.length / prefixBytes, sha256: sha256Hex(bytes) } };
}

async function sendReachableSet(
  client: ApiClient,
  { params, bytes, named }: ReachableSet & { params: RepoPlace },
): Promise<void> {
  const { body } = await client.ask('signReachableSet', { params, body: named });
  const answer = await fetchOrFail(body.url, { method: 'PUT', headers: body.headers, body: bytes });
  await answer.arrayBuffer();
}

async function writeList({ body: { found }, file }: { body: GcBody; file: string }): Promise<void> {
  const texts: string[] = [];
  for (const { url } of found?.lists ?? [])
    texts.push(await (await fetchOrFail(url, { method: 'GET' })).text());
  const text = texts.join('');
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw downloadFailure(error, { isStopped: false, file, goOn: 'Nothing was deleted. Run it again.' });
  }
  const listed = text.split('\n').length - 1;
  const { objectCount = 0 } = found?.candidates ?? {};
  if (listed !== objectCount)
    throw new CliError(`${file} has ${formatCount(listed)} of ${formatObjects(objectCount)}.`, {
      hint: 'Nothing was deleted. Run it again. Lists have up to a million objects: for more, leave out --list.',
    });
}

const storeHint =
  "Nothing was deleted. Run it again. If that doesn't help, check the store: lfs-quota doctor";

async function fetchOrFail(url: string, request: RequestInit): Promise<Response> {
  const where = new URL(url).origin;
  try {
    const answer = await fetch(url, {
      ...request,
      redirect: 'error',
      signal: AbortSignal.timeout(transferMs),
    });
    if (answer.ok) return answer;
    throw new CliError(`The store at ${where} returned ${answer.status}.`, { hint: storeHint });
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`The store at ${where} doesn't respond.`, {
      hint: storeHint,
      failure: 'unavailable',
      cause: error,
    });
  }
}

function parseDays(text: string): number {
  const [, days] = /^(\d{1,4})d?$/.exec(text) ?? [];
  if (days === undefined) throw new InvalidArgumentError('Use a number of days, such as 30.');
  return Number(days);
}

/**
 * Waits until a run has ended, and shows how far it is.
 *
 * @param wait.isQuiet show nothing.
 * @throws {CliError} on Ctrl-C, or when the API does not answer.
 */
function waitForRun(
  { client, context }: { client: ApiClient; context: CliContext },
  { params, isQuiet }: { params: RepoPlace; isQuiet: boolean },
): Promise<ApiAnswer<GcBody>> {
  return waitUntilEnded(context, {
    isQuiet,
    poll: () => client.ask('getGc', { params }),
    textOf: ({ body }, inPlace) => {
      if (body.state !== 'selecting' && body.state !== 'deleting') return undefined;
      return inPlace ? progressText(body) : body.state;
    },
    what: 'Garbage collection',
    hint: 'See its progress: lfs-quota gc status. Cancel it: lfs-quota gc cancel',
  });
}

type Recent = NonNullable<NonNullable<GcBody['found']>['reserved']>;

const timeOf = (isoDate: string) => `${isoDate.slice(11, 16)} UTC`;

/** A gc run for a person: where it stands, what was found, and what to do next. */
export function renderGc(body: GcBody, view: View): string {
  const { nowMs } = view;
  return [stateLine(body, nowMs), ...foundLines(body, view), ...nextLines(body, nowMs)].join('');
}

function stateLine({ tenant, repo, state, openedAt, endedAt }: GcBody, nowMs: number): string {
  const since =
    endedAt === null ? `opened ${formatAge(openedAt, nowMs)}` : `ended ${formatAge(endedAt, nowMs)}`;
  return `${tenant}/${repo}: ${state}, ${since}\n`;
}

function foundLines({ found, run, state, deleted }: GcBody, view: View): string[] {
  if (!found) return [];
  const rows = [
    ['stored', formatSum(found.stored)],
    ['referenced by a commit', formatSum(found.kept)],
    ['in a push since then', formatSum(found.inUse)],
    ...(found.reserved ? [['uploaded recently', formatSum(found.reserved)]] : []),
    [`newer than ${run?.minAgeDays ?? 0} days`, formatSum(found.young)],
    [run?.dryRun ? 'would be deleted' : 'to be deleted', formatSum(found.candidates)],
    ...(run?.dryRun === false && (state !== 'watching' || deleted.objectCount > 0)
      ? [['deleted', formatSum(deleted)]]
      : []),
  ];
  const largest = found.largest.map(({ oid, sizeBytes }) => [oid, formatBytes(sizeBytes)]);
  return [
    renderTable(['found', ''], rows, view),
    ...(largest.length > 0
      ? ['\n', renderTable(['largest', { name: 'size', right: true }], largest, view)]
      : []),
  ];
}

function nextLines(
  { failure, deleted, state, mayRun, snapshotFrom, run, found, ...path }: GcBody,
  nowMs: number,
) {
  if (failure) return [`${failedText({ deleted })}: ${failure.message}\n`];
  const command = `lfs-quota gc run ${path.tenant} ${path.repo} --clone DIR`;
  switch (state) {
    case 'watching':
      if (!mayRun)
        return [`Pushes now protect their objects. Run it ${formatUntil(snapshotFrom, nowMs)}: ${command}\n`];
      if (!run || !found) return [`Run it: ${command}\n`];
      if (found.candidates.objectCount === 0)
        return [
          nothingText(found, { nowMs, command, cancel: `lfs-quota gc cancel ${path.tenant} ${path.repo}` }),
        ];
      return [
        `Nothing was deleted. To delete: ${command} --delete${found.isMoreThanHalf ? ' --force' : ''}\n`,
      ];
    case 'selecting':
    case 'deleting':
      return [`It continues in the background: lfs-quota gc status ${path.tenant} ${path.repo}\n`];
    case 'done':
      return found?.reserved
        ? [keptText(found.reserved, `lfs-quota gc open ${path.tenant} ${path.repo}`)]
        : [];
    default:
      return [];
  }
}

/** A run that fails may have deleted some. */
function failedText({ deleted }: Pick<GcBody, 'deleted'>): string {
  return deleted.objectCount === 0 ? 'Nothing was deleted' : 'It stopped before everything was deleted';
}

/** A run that deletes ends the watch, so objects that it had to leave need a new one. */
function keptText({ objectCount, until }: Recent, open: string): string {
  return `Uploads of ${formatObjects(objectCount)} are possible until ${timeOf(until)}. To delete the rest later: ${open}\n`;
}

/** What was just uploaded is a candidate once its upload URLs have expired. */
function nothingText(
  { reserved }: NonNullable<GcBody['found']>,
  { nowMs, command, cancel }: { nowMs: number; command: string; cancel: string },
): string {
  if (!reserved) return `Nothing to delete. To finish: ${cancel}\n`;
  return `Nothing to delete yet: uploads of ${formatObjects(reserved.objectCount)} are possible until ${timeOf(reserved.until)}. Run it again ${formatUntil(reserved.until, nowMs)}: ${command}\n`;
}

/** One line, while somebody waits. */
function progressText({ state, found, deleted }: GcBody): string {
  if (state !== 'deleting' || !found) return 'the repo is listed';
  return `deleting: ${formatSum(deleted)} of ${formatSum(found.candidates)}`;
}

const gcState = 'See its state: lfs-quota gc status TENANT REPO';

export const gc: CliSubject = {
  commands: { 260: gcCommands },
  examples: {
    'gc open': [['lfs-quota gc open acme game', 'a day before gc run']],
    'gc run': [
      ['lfs-quota gc run acme game --clone game.git', 'shows unreferenced objects'],
      ['lfs-quota gc run acme game --clone game.git --list unneeded.txt'],
      ['lfs-quota gc run acme game --clone game.git --older-than 30 --delete'],
    ],
    'gc status': [['lfs-quota gc status acme game']],
    'gc cancel': [['lfs-quota gc cancel acme game']],
  },
  hints: {
    'gc-not-found': 'Run first: lfs-quota gc open TENANT REPO',
    'gc-ending': `Retry in a minute. ${gcState}`,
    'gc-too-early': gcState,
    'gc-running': gcState,
  },
};
