import { writeFileSync } from 'node:fs';
import { InvalidArgumentError, Option } from 'commander';
import { sha256Hex } from '../../../lambda/core/rules/hash.ts';
import { prefixBytes, prefixesOf } from '../../../lambda/core/rules/prefix-set.ts';
import { formatBytes } from '../../../lambda/core/rules/sizes.ts';
import type { ApiAnswer, ApiClient, BodyOf } from '../../api-client.ts';
import { right, tableOf } from '../../columns.ts';
import {
  actionCommand,
  type CliSubject,
  flag,
  given,
  type OptionsOf,
  ofRepo,
  option,
  type Register,
  routeCommand,
} from '../../command.ts';
import { asCalled, type CliContext } from '../../context.ts';
import { pathTree, tellingPaths } from '../../du-git/report.ts';
import { CliError, UsageError } from '../../errors.ts';
import { fetchOrFail } from '../../fetch-signed.ts';
import { type AtTips, keepByRule, type Ruled, readVersions, type Versions } from '../../git/keep-rule.ts';
import { readClone } from '../../git/read-clone.ts';
import type { RepoPlace } from '../../lfs-batch.ts';
import { objectPages } from '../../list-pages.ts';
import { collect } from '../../options.ts';
import { pollMs, waitUntilEnded } from '../../progress.ts';
import { formatAge, formatCount, formatObjects, formatSum, formatUntil, shellWords } from '../../render.ts';
import { renderTable } from '../../table.ts';
import { printable, type View, viewOf } from '../../terminal.ts';
import { downloadFailure } from '../../transfer.ts';

type GcBody = BodyOf<'getGc'>;

const shown = (body: GcBody, context: CliContext): string =>
  asCalled(renderGc(body, viewOf(context)), context);

/** Of the rule, as --help says. */
const [keepDaysDefault, keepVersionsDefault] = [30, 3];

/** Of a command about the gc run of a repo. */
const ofGc = {
  operands: ofRepo,
  print: (body: GcBody, { context }: { context: CliContext }) => shown(body, context),
};

const gcOptions = {
  clone: given<string>(
    new Option('--clone <dir>', 'a full clone of the repo, made by git clone --mirror').default('.'),
  ),
  remote: option(
    '--remote <name>',
    'remote with refs that the clone must have; repeatable (default: origin)',
    collect,
  ),
  keepDays: option(
    '--keep-days <days>',
    'also delete old versions, this many days after they were replaced (default: 30)',
    parseDays,
  ),
  keepVersions: option(
    '--keep-versions <n>',
    'the same; keep this many at each path before those of branches (default: 3)',
    parseVersions,
  ),
  only: option('--only <glob>', "the same for these paths; repeatable, as Git's glob pathspec", collect),
  delete: flag('--delete', 'delete; without it, only show'),
  force: flag('--force', "delete even if it's more than half of the bytes"),
  olderThan: option(
    '--older-than <days>',
    'keep objects stored within this many days (default: 7)',
    parseDays,
  ),
  wait: given<boolean>(new Option('--no-wait', "don't wait for the result")),
  cancel: flag('--cancel', "stop it; objects that aren't deleted yet stay"),
};

const listOption = option('--list <file>', 'write candidates into this file: oid and bytes');

interface GcRun {
  readonly operands: RepoPlace;
  readonly options: OptionsOf<typeof gcOptions> & { readonly list?: string | undefined; json?: boolean };
  readonly context: CliContext;
}

const gcCommand = {
  description: 'Free unneeded objects, and old versions by a rule',
  operands: ofRepo,
  options: gcOptions,
  wanted: 'the admin token, or one of the tenant with the scope gc or manage',
};

/** `gc`, and what it was in the release before. */
const gcCommands: Register = (program, context) => {
  actionCommand({ ...gcCommand, name: 'gc', run: collectGarbage })(program, context);
  const gc = program.commands.at(-1);
  const older = (name: string, now: string) => ({
    ...ofGc,
    name,
    isHidden: true as const,
    description: `Use instead: ${now}`,
    before: async () => warnOf(context, name, now),
  });
  const run = async (client: ApiClient, input: GcRun) => {
    warnOf(context, 'run', 'lfs-quota gc');
    await collectGarbage(client, input);
  };
  for (const register of [
    routeCommand({ ...older('open', 'lfs-quota gc'), route: 'openGc', body: () => ({}) }),
    routeCommand({ ...older('status', 'lfs-quota gc'), route: 'getGc' }),
    routeCommand({ ...older('cancel', 'lfs-quota gc --cancel'), route: 'cancelGc' }),
    actionCommand({
      ...gcCommand,
      ...older('run', 'lfs-quota gc'),
      options: { ...gcOptions, list: listOption },
      run,
    }),
  ])
    if (gc) register(gc, context);
};

const warnOf = (context: CliContext, name: string, now: string) =>
  context.err(asCalled(`\`gc ${name}\` ends with the next release. Use instead: ${now}\n`, context));

/** Opens the watch unless one is open, and once pushes before it have ended, runs. After a delete it opens the next. */
async function collectGarbage(client: ApiClient, { operands: params, options, context }: GcRun) {
  const { list, wait, json: isQuiet = false } = options;
  const print = ({ body, text }: ApiAnswer<GcBody>) =>
    context.out(isQuiet ? `${text}\n` : shown(body, context));
  if (options.cancel) return print(await client.ask('cancelGc', { params }));
  if (list !== undefined && !wait) throw new UsageError('--list needs the result: leave out --no-wait.');
  const asking = { client, context, params, isQuiet, wait };
  const opened = await openGc(asking);
  if (!opened.body.mayRun) return print(opened);
  const history = await readHistory(client, context, { ...options, isQuiet });
  await client.busy.during(
    () => 'uploading the reachable set',
    () => sendReachableSet(client, { params, ...history }),
  );
  const run = async (dryRun: boolean) => {
    const { force = false, olderThan: minAgeDays } = options;
    const body = { reachableSet: history.named, dryRun, force, minAgeDays, rule: history.rule };
    const started = await client.ask('runGc', { params, body });
    return wait ? waitForRun(asking) : started;
  };
  // A run that deletes may have ended, and removed its lists, before anybody can read them.
  const isListed = list !== undefined || (history.ruled !== undefined && wait && !isQuiet);
  let ended = await run(isListed || options.delete !== true);
  if (isListed && !failureOf(ended.body)) {
    const text = await client.busy.during(
      () => 'fetching the list',
      () => readLists(ended.body),
    );
    if (list !== undefined) writeList({ body: ended.body, file: list, text });
    if (!isQuiet) context.out(pathsText(text, history, viewOf(context)));
    if (options.delete) ended = await run(false);
  }
  print(ended);
  const missing = wait ? await missingText(client, { params, history, body: ended.body }) : '';
  (isQuiet ? context.err : context.out)(missing);
  const failure = failureOf(ended.body);
  if (failure) throw failure;
  if (ended.body.state !== 'done') return;
  const next = await openGc(asking);
  if (!isQuiet) print(next);
}

const isRunning = ({ state }: GcBody) => state === 'selecting' || state === 'deleting';

/** A gc run that has ended is tidied within seconds. */
const openAttemptsMax = 30;

/** Opens a watch, unless one is open. Waits until a run that is in progress has ended. @throws {CliError} */
async function openGc(asking: Asking): Promise<ApiAnswer<GcBody>> {
  const { client, context, params, wait } = asking;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const opened = await client.ask('openGc', { params, body: {} });
      if (!wait || !isRunning(opened.body)) return opened;
      await waitForRun(asking);
    } catch (error) {
      if (!(error instanceof CliError) || error.code !== 'gc-ending' || attempt >= openAttemptsMax)
        throw error;
      await context.sleep(pollMs);
    }
  }
}

/** @returns why a run deleted nothing, or not all. It may end by its time, or by somebody else's `gc --cancel`. */
function failureOf(body: GcBody): CliError | undefined {
  const { failure, state, tenant, repo } = body;
  if (failure)
    return new CliError(`${failedText(body)}.`, {
      hint: 'Fix the problem above, and run it again.',
      ...(failure.reason === 'too-much' && { failure: 'refused' }),
    });
  if (state !== 'expired' && state !== 'cancelled') return undefined;
  return new CliError(`${failedText(body)}: garbage collection is ${state}.`, {
    hint: `Open another one, and run it a day later: lfs-quota gc ${tenant} ${repo}`,
  });
}

/** What a clone says of its objects. */
interface History {
  /** The reachable set. */
  readonly bytes: Buffer;
  readonly named: { readonly objects: number; readonly sha256: string };
  readonly tips: AtTips;
  /** undefined: there is no rule. */
  readonly ruled: (Ruled & Pick<Versions, 'last'>) | undefined;
  readonly rule: { readonly days: number; readonly versions: number } | undefined;
}

async function readHistory(
  client: ApiClient,
  context: CliContext,
  options: GcRun['options'] & { isQuiet: boolean },
): Promise<History> {
  const { clone, keepDays, keepVersions, only } = options;
  const { refs, oids, pointers, tips, line, scanned } = await readClone(client, context, options);
  const hasRule = keepDays !== undefined || keepVersions !== undefined || only !== undefined;
  const rule = { days: keepDays ?? keepDaysDefault, versions: keepVersions ?? keepVersionsDefault };
  const versions = hasRule ? await readVersions(clone, { refs, pointers, tips }) : undefined;
  const ruled = versions && {
    ...(await keepByRule(clone, {
      refs,
      pointers,
      tips,
      versions,
      rule: { ...rule, only: only ?? [] },
      nowMs: context.nowMs(),
    })),
    last: versions.last,
  };
  const bytes = prefixesOf(ruled?.kept ?? oids);
  line.end(
    ruled
      ? `The rule keeps ${formatCount(ruled.kept.size)} of ${formatObjects(oids.size)} ${scanned}.`
      : `The clone needs ${formatObjects(oids.size)} ${scanned}.`,
  );
  if (ruled?.future) context.err(futureText(ruled.future));
  const named = { objects: bytes.length / prefixBytes, sha256: sha256Hex(bytes) };
  return { bytes, named, tips, ruled, rule: hasRule ? rule : undefined };
}

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

const futureText = ({ commit, saidMs }: NonNullable<Ruled['future']>) =>
  `Commit ${commit.slice(0, 10)} is dated ${dayOf(saidMs)}: the rule keeps every version since.\n`;

/** Rows of the preview. */
const pathsMax = 20;

interface PathRow {
  readonly path: string;
  readonly bytes: number;
  readonly objectCount: number;
  readonly stay: number | undefined;
  readonly newestMs: number | undefined;
}

const pathTable = tableOf<PathRow>([
  ['frees', ({ bytes }) => formatBytes(bytes), { right: true, stays: true }],
  ['delete', ({ objectCount }) => formatCount(objectCount), right],
  ['keep', ({ stay }) => (stay === undefined ? '–' : formatCount(stay)), right],
  ['newest', ({ newestMs }) => (newestMs === undefined ? '–' : dayOf(newestMs))],
  ['path', ({ path }) => path, { least: 20, stays: true }],
]);

/** What would be deleted, by path. @param lists a line for each object: oid and bytes. */
function pathsText(lists: string, { tips, ruled }: Pick<History, 'tips' | 'ruled'>, view: View): string {
  const going = lists.split('\n').flatMap((line) => {
    const [oid = '', bytes] = line.split(' ');
    return bytes === undefined ? [] : [{ bytes: Number(bytes), ...ruled?.last.get(oid) }];
  });
  const files = going.flatMap(({ path, bytes }) =>
    path === undefined ? [] : [{ path, bytes, currentBytes: 0, objectCount: 1 }],
  );
  const staying = [...(ruled?.kept ?? [])].flatMap((oid) => ruled?.last.get(oid) ?? []);
  const rows = tellingPaths(pathTree(files), { countMax: pathsMax }).map(({ path, bytes, objectCount }) => {
    const isIn = (other: string | undefined) =>
      other === path || (path.endsWith('/') && other?.startsWith(path) === true);
    const newestMs = going.reduce((ms, each) => (isIn(each.path) ? Math.max(ms, each.atMs ?? 0) : ms), 0);
    const remark = [...tips.paths].some(isIn) ? '' : '  (no branch has it)';
    const stay = staying.filter((each) => isIn(each.path)).length;
    return { path: `${path}${remark}`, bytes, objectCount, stay, newestMs };
  });
  const others = going.filter(({ path }) => path === undefined);
  const bytes = others.reduce((sum, each) => sum + each.bytes, 0);
  const rest = {
    path: '(in no commit)',
    bytes,
    objectCount: others.length,
    stay: undefined,
    newestMs: undefined,
  };
  const all = others.length > 0 ? [...rows, rest] : rows;
  return all.length > 0 ? `${pathTable(all, view)}\n` : '';
}

/** Objects that a message names. */
const missingMax = 5;

/** What branches and tags need, and nobody has pushed, or was deleted before they named it. */
async function missingText(
  client: ApiClient,
  { params, history, body }: { params: RepoPlace; history: History; body: GcBody },
): Promise<string> {
  // What is kept is stored. If that is all, nothing is missing.
  if (!body.found || body.found.kept.objectCount >= history.named.objects) return '';
  const stored = new Set<string>();
  for await (const page of objectPages(client, params))
    for (const { oid } of page.body.objects) stored.add(oid);
  const missing = [...history.tips.objects].filter(([oid]) => !stored.has(oid)).map(([, at]) => at);
  const [first] = missing;
  if (!first) return '';
  const more = missing.length > missingMax ? ` and ${formatCount(missing.length - missingMax)} others` : '';
  const names = missing.slice(0, missingMax).map(({ path, ref }) => printable(`${path} (${ref})`));
  const heal = `git lfs push --all origin ${shellWords([first.ref])}`;
  return `At a tip, but not stored: ${names.join(', ')}${more}. In a clone that has it: ${heal}\n`;
}

async function sendReachableSet(
  client: ApiClient,
  { params, bytes, named }: Pick<History, 'bytes' | 'named'> & { params: RepoPlace },
): Promise<void> {
  const { body } = await client.ask('signReachableSet', { params, body: named });
  const answer = await fetchOrFail(body.url, {
    method: 'PUT',
    headers: body.headers,
    body: bytes,
    hint: storeHint,
  });
  await answer.arrayBuffer();
}

async function readLists({ found }: GcBody): Promise<string> {
  const texts: string[] = [];
  for (const { url } of found?.lists ?? [])
    texts.push(await (await fetchOrFail(url, { method: 'GET', hint: storeHint })).text());
  return texts.join('');
}

function writeList({ body: { found }, file, text }: { body: GcBody; file: string; text: string }): void {
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

function parseDays(text: string): number {
  const [, days] = /^(\d{1,4})d?$/.exec(text) ?? [];
  if (days === undefined) throw new InvalidArgumentError('Use a number of days, such as 30.');
  return Number(days);
}

function parseVersions(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('Use a number of versions, such as 3.');
  return Number(text);
}

/** Who asks, and for what. */
interface Asking {
  readonly client: ApiClient;
  readonly context: CliContext;
  readonly params: RepoPlace;
  /** Show no progress. */
  readonly isQuiet: boolean;
  readonly wait: boolean;
}

/**
 * Waits until a run has ended, and shows how far it is.
 *
 * @throws {CliError} on Ctrl-C, or when the API does not answer.
 */
function waitForRun({ client, context, params, isQuiet }: Asking): Promise<ApiAnswer<GcBody>> {
  return waitUntilEnded(context, {
    isQuiet,
    poll: () => client.ask('getGc', { params }),
    textOf: ({ body }, inPlace) => {
      if (!isRunning(body)) return undefined;
      return inPlace ? progressText(body) : body.state;
    },
    what: 'Garbage collection',
    hint: 'Wait for it again: lfs-quota gc. Cancel it: lfs-quota gc --cancel',
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
  const start = `lfs-quota gc ${path.tenant} ${path.repo}`;
  const command = `${start} --clone DIR`;
  switch (state) {
    case 'watching':
      if (!mayRun)
        return [`Pushes now protect their objects. Run it ${formatUntil(snapshotFrom, nowMs)}: ${command}\n`];
      if (!run || !found) return [`Run it: ${command}\n`];
      if (found.candidates.objectCount === 0)
        return [nothingText(found, { nowMs, command, cancel: `${start} --cancel` })];
      return [`Nothing was deleted. To delete, add: --delete${found.isMoreThanHalf ? ' --force' : ''}\n`];
    case 'selecting':
    case 'deleting':
      return [`It continues in the background. Wait for it: ${command}\n`];
    case 'done':
      return found?.reserved ? [keptText(found.reserved, start)] : [];
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

const gcState = 'See its state: lfs-quota gc TENANT REPO';

export const gc: CliSubject = {
  commands: { 260: gcCommands },
  examples: {
    gc: [
      ['lfs-quota gc acme game --clone game.git', 'opens it; a day later, shows what no branch or tag needs'],
      ['lfs-quota gc acme game --clone game.git --keep-days 30 --keep-versions 3', 'old versions, too'],
      ["lfs-quota gc acme game --clone game.git --only 'Builds/**' --keep-versions 1 --delete"],
    ],
  },
  hints: {
    'gc-not-found': 'Run first: lfs-quota gc TENANT REPO',
    'gc-ending': `Retry in a minute. ${gcState}`,
    'gc-too-early': gcState,
    'gc-running': gcState,
  },
};
