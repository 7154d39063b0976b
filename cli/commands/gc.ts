import { writeFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { type CleanupBody, cleanupSchema, signedKeepSetSchema } from '../../lambda/api/contract/cleanups.ts';
import { prefixBytes, prefixesOf } from '../../lambda/domain/cleanup/prefixes.ts';
import { sha256Hex } from '../../lambda/domain/hash.ts';
import type { ApiClient } from '../api-client.ts';
import { asCalled, type CliContext } from '../context.ts';
import { CliError } from '../errors.ts';
import { checkClone } from '../gc/check-clone.ts';
import { scanClone } from '../gc/scan-clone.ts';
import { failedText, renderCleanup } from '../gc/views.ts';
import { waitForRun } from '../gc/wait-for-run.ts';
import {
  type ApiOptions,
  managerToken,
  openClient,
  parseRepo,
  parseTenant,
  withApiOptions,
} from '../options.ts';
import { printAnswer } from '../print-answer.ts';
import { formatCount, formatObjects, formatUntil } from '../render.ts';
import { viewOf } from '../view.ts';
import { WaitLine } from '../wait-line.ts';

interface RunOptions extends ApiOptions {
  readonly clone: string;
  readonly remote?: readonly string[];
  readonly delete?: boolean;
  readonly force?: boolean;
  readonly olderThan?: number;
  readonly list?: string;
  readonly wait: boolean;
}

/** Of a keep-set, or a list of candidates. */
const transferMs = 10 * 60_000;

const pathOf = (tenant: string, repo: string) => `/v1/tenants/${tenant}/repos/${repo}/cleanup`;

/** `gc open|run|status|cancel`: deletes what no commit of a repo needs any more. */
export function registerGc(program: Command, context: CliContext): void {
  const group = program
    .command('gc')
    .description('delete the objects of a repo that no commit needs any more');
  const add = (name: string) =>
    withApiOptions(group.command(name))
      .argument('<tenant>', 'name of the tenant', parseTenant)
      .argument('<repo>', 'name of the repo', parseRepo);
  add('open')
    .description('begin: from now on pushes note what they name; `gc run` may follow a day later')
    .action((tenant: string, repo: string, options: ApiOptions) =>
      show(context, options, { method: 'POST', path: pathOf(tenant, repo), body: {} }),
    );
  add('status')
    .description('show where it stands, and what was found')
    .action((tenant: string, repo: string, options: ApiOptions) =>
      show(context, options, { method: 'GET', path: pathOf(tenant, repo) }),
    );
  add('cancel')
    .description('end it; what is not deleted yet stays')
    .action((tenant: string, repo: string, options: ApiOptions) =>
      show(context, options, { method: 'DELETE', path: pathOf(tenant, repo) }),
    );
  add('run')
    .description('scan a full clone, and show what no commit needs; with --delete, delete it')
    .option('--clone <dir>', 'a full clone of the repo, best of all made by `git clone --mirror`', '.')
    .option(
      '--remote <name>',
      'a remote whose refs the clone must have; may be repeated (default: origin)',
      collect,
    )
    .option('--delete', 'delete it; without this, it is only shown')
    .option('--force', 'delete it, though it is more than half of the bytes')
    .option('--older-than <days>', 'keep what was stored in as many days (default: 7)', parseDays)
    .option('--list <file>', 'write what was found into this file: a line each, oid and bytes')
    .option('--no-wait', 'do not wait for its end')
    .action((tenant: string, repo: string, options: RunOptions) => run(context, options, { tenant, repo }));
}

async function show(
  context: CliContext,
  options: ApiOptions,
  request: { method: 'GET' | 'POST' | 'DELETE'; path: string; body?: unknown },
): Promise<void> {
  await printAnswer(context, options, {
    ...request,
    wanted: managerToken,
    shape: cleanupSchema,
    render: (body) => shown(body, context),
  });
}

interface RepoOfTenant {
  readonly tenant: string;
  readonly repo: string;
}

async function run(context: CliContext, options: RunOptions, repo: RepoOfTenant): Promise<void> {
  const path = pathOf(repo.tenant, repo.repo);
  const client = openClient(options, context, managerToken);
  const isQuiet = options.json === true;
  await checkReady(client, context, repo);
  const keepSet = await readKeepSet(client, context, options);
  await client.busy.during(
    () => 'sending what the clone needs',
    () => sendKeepSet(client, { path, ...keepSet }),
  );
  const started = await client.send({
    method: 'POST',
    path: `${path}/run`,
    body: {
      keepSet: keepSet.named,
      dryRun: options.delete !== true,
      force: options.force === true,
      ...(options.olderThan !== undefined && { minAgeDays: options.olderThan }),
    },
    shape: cleanupSchema,
  });
  const { body, text } = options.wait ? await waitForRun({ client, context }, { path, isQuiet }) : started;
  const { list } = options;
  if (list !== undefined)
    await client.busy.during(
      () => 'fetching the list',
      () => writeList({ body, file: list }),
    );
  context.out(options.json ? `${text}\n` : shown(body, context));
  if (body.failure)
    throw new CliError(`${failedText(body)}.`, { hint: 'Mend what it says above, and run it again.' });
  // It has ended otherwise: by its time, or by somebody else's `gc cancel`.
  if (body.state === 'expired' || body.state === 'cancelled')
    throw new CliError(`${failedText(body)}: the clean-up is ${body.state}.`, {
      hint: `Open another, and run it a day later: \`lfs-quota gc open ${repo.tenant} ${repo.repo}\``,
    });
}

const shown = (body: CleanupBody, context: CliContext): string =>
  asCalled(renderCleanup(body, viewOf(context)), context);

/** Asked before the refs of the remote: those must not be older than the service allows. */
async function checkReady(
  client: ApiClient,
  context: CliContext,
  { tenant, repo }: RepoOfTenant,
): Promise<void> {
  const cleanup = await client.find({ path: pathOf(tenant, repo), shape: cleanupSchema });
  const isOpen = cleanup && ['watching', 'selecting', 'deleting'].includes(cleanup.state);
  if (!isOpen)
    throw new CliError('No clean-up is open.', {
      hint: `Open one first: lfs-quota gc open ${tenant} ${repo}`,
    });
  if (cleanup.mayRun) return;
  if (cleanup.state !== 'watching')
    throw new CliError('A run is under way.', {
      hint: `See how far it is: lfs-quota gc status ${tenant} ${repo}`,
    });
  const when = formatUntil(cleanup.snapshotFrom, context.nowMs());
  throw new CliError(`Nothing was looked at: this clean-up may be run ${when}.`, {
    hint: 'Until then a push that began before `gc open` may still move its branch.',
  });
}

interface KeepSet {
  readonly bytes: Buffer;
  readonly named: { readonly objects: number; readonly sha256: string };
}

async function readKeepSet(client: ApiClient, context: CliContext, options: RunOptions): Promise<KeepSet> {
  const isQuiet = options.json === true;
  const { clone, remote = ['origin'] } = options;
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

async function sendKeepSet(
  client: ApiClient,
  { path, bytes, named }: KeepSet & { path: string },
): Promise<void> {
  const { body } = await client.send({
    method: 'POST',
    path: `${path}/keep-set`,
    body: named,
    shape: signedKeepSetSchema,
  });
  const answer = await fetchOrFail(body.url, { method: 'PUT', headers: body.headers, body: bytes });
  await answer.arrayBuffer();
}

async function writeList({ body, file }: { body: CleanupBody; file: string }): Promise<void> {
  // What is done has no lists any more.
  const lists = body.found?.lists ?? [];
  const texts: string[] = [];
  for (const { url } of lists) texts.push(await (await fetchOrFail(url, { method: 'GET' })).text());
  if (lists.length === 0 && (body.found?.candidates.objectCount ?? 0) > 0)
    throw new CliError(`There is no list any more: ${body.tenant}/${body.repo} is cleaned up.`, {
      hint: 'Run it without --delete first.',
    });
  writeFileSync(file, texts.join(''));
}

const storeHint = 'Run it again. If that does not help, `lfs-quota doctor` tries the store.';

async function fetchOrFail(url: string, request: RequestInit): Promise<Response> {
  const where = new URL(url).origin;
  try {
    const answer = await fetch(url, {
      ...request,
      redirect: 'error',
      signal: AbortSignal.timeout(transferMs),
    });
    if (answer.ok) return answer;
    throw new CliError(`The store at ${where} answered ${answer.status}.`, { hint: storeHint });
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`The store at ${where} does not answer.`, {
      hint: storeHint,
      failure: 'unavailable',
      cause: error,
    });
  }
}

const collect = (text: string, before: readonly string[] = []) => [...before, text];

function parseDays(text: string): number {
  const [, days] = /^(\d{1,4})d?$/.exec(text) ?? [];
  if (days === undefined) throw new InvalidArgumentError('Give a number of days, such as 30.');
  return Number(days);
}
