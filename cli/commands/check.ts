import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { Option } from 'commander';
import { z } from 'zod';
import { isTenantName } from '../../lambda/core/rules/names.ts';
import { releaseText } from '../../lambda/core/rules/release.ts';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import { arrivedHeader } from '../../local/reach.ts';
import type { ApiClient } from '../api-client.ts';
import type { CliSubject, Register } from '../command.ts';
import type { CliContext } from '../context.ts';
import { CliError, UsageError } from '../errors.ts';
import { askBatch, type BatchAction, type LfsObject, ownRepo, type RepoPlace } from '../lfs-batch.ts';
import { putObject, RefusedError, read, sendAgain } from '../move/put.ts';
import { verifyObject } from '../move/relay.ts';
import { parseRepo, parseTenant } from '../options.ts';
import { addressWarning, credentialCure, otherUrl, transferCure, uploadWarnings } from '../proxy.ts';
import { formatUntil } from '../render.ts';
import { clientFor, openClient } from '../server.ts';
import { printable } from '../terminal.ts';
import { type DownloadDeps, idleTimer, TransferError } from '../transfer.ts';
import { parsePutSize } from './doctor.ts';

/** `check`: pushes and pulls an object through a deployment, as git-lfs does, and says which step failed. */

const defaultBytes = 64 * 1024 ** 2;
/** Of one that stays, or where no more fits. */
const smallBytes = 1000;
const repoDefault = 'lfs-quota-check';
/** Of the token that the admin token makes for it. It expires by itself if the check is killed. */
const tokenSeconds = 3600;

interface CheckOptions {
  readonly token?: string;
  readonly tenant?: string;
  readonly repo?: string;
  readonly size?: number;
  readonly json?: boolean;
  readonly health?: boolean;
}

export const registerCheck =
  (subjects: readonly CliSubject[]): Register =>
  (program, context) => {
    const [offered] = subjects.flatMap((subject) => subject.offered ?? []);
    const [health] = subjects.flatMap((subject) => subject.health ?? []);
    const command = program.command('check').summary('Test a server: push and pull 64 MiB, or --health');
    if (health) command.option('--health', 'only show what needs attention (exit 1), with the admin token');
    command
      .description('Test a server: push and pull 64 MiB, and delete it again')
      .argument('[url]', 'server URL (env: LFS_QUOTA_URL; default: your login)')
      .option('--token <token>', 'admin token, or one that can push (env: LFS_QUOTA_TOKEN)')
      .option('--tenant <name>', 'where to push, with the admin token', parseTenant)
      .option('--repo <repo>', `where to push (default: ${repoDefault})`, parseRepo)
      .option('--size <size>', 'how much (default: 64MiB, or half of what is free)', parsePutSize)
      .option('--json', 'print one JSON object at the end')
      // As `status` had it, until its name ends.
      .addOption(new Option('--url <url>').hideHelp())
      .action(async (url: string | undefined, options: CheckOptions) => {
        const client = await openClient({ ...options, ...(url !== undefined && { url }) }, context);
        if (options.health) return health?.(client, { context, isJson: options.json === true });
        await check(client, { ...options, offered }, context);
      });
  };

/** Runs a step, and prints what it says of itself. */
type RunStep = <T extends { readonly says: string; readonly warnings?: readonly string[] }>(
  step: string,
  run: () => Promise<T>,
) => Promise<T>;

/** @throws {CliError} what the first step failed with. */
async function check(
  client: ApiClient,
  options: CheckOptions & Pick<Pusher, 'offered'>,
  context: CliContext,
): Promise<void> {
  const steps: { step: string; ok: boolean; detail: string; warning?: true }[] = [];
  const note = (how: 'ok' | 'warn' | 'FAIL', step: string, detail: string) => {
    steps.push({ step, ok: how !== 'FAIL', detail, ...(how === 'warn' && { warning: true }) });
    if (options.json) return;
    context.out(`${how.padEnd(6)}${step.padEnd(10)}${printable(detail)}\n`);
  };
  const runStep: RunStep = async (step, run) => {
    try {
      const value = await run();
      const { warnings = [] } = value;
      for (const warning of warnings) note('warn', step, warning);
      if (warnings.length === 0) note('ok', step, value.says);
      return value;
    } catch (error) {
      note('FAIL', step, error instanceof CliError ? error.message : '');
      throw error;
    }
  };
  const abort = new AbortController();
  const release = context.onInterrupt?.(() =>
    abort.abort(new CliError('Stopped.', { hint: 'Run it again.', failure: 'interrupted' })),
  );
  try {
    const { arrived } = await runStep('health', () => readHealth(client));
    const pusher = await runStep('token', () => pusherOf(client, options, context));
    const push = new CheckedPush(
      { stop: abort.signal, sleep: context.sleep },
      { ...pusher, offered: options.offered },
    );
    // What is left is removed first, and what failed is said at the end.
    const [failed] = await Promise.allSettled([push.pushAndPull(runStep, options.size, arrived)]);
    const cleaning = runStep('clean up', () => cleanUp(client, { pusher, oid: push.sentOid, context }));
    const [left] = await Promise.allSettled([cleaning]);
    for (const ended of [failed, left]) if (ended.status === 'rejected') throw ended.reason;
  } finally {
    release?.();
    const works = steps.every(({ ok }) => ok);
    if (options.json) context.out(`${JSON.stringify({ url: client.baseUrl, works, steps })}\n`);
    else if (works)
      context.out(
        `\n${client.baseUrl} works${steps.some(({ warning }) => warning) ? ', but not well' : ''}.\n`,
      );
  }
}

const healthShape = z.object({
  status: z.literal('ok'),
  version: z.string().default('an older version'),
  commit: z.string().nullable().default(null),
});

/** @returns arrived: the headers that get through a proxy, as the server says. */
async function readHealth(client: ApiClient): Promise<{ says: string; arrived: string }> {
  const asked = { method: 'GET', path: '/health', mediaType: 'application/json' } as const;
  const { status, body, headers } = await client.exchange(asked);
  const health = healthShape.safeParse(body);
  const arrived = headers.get(arrivedHeader) ?? 'authorization,x-forwarded-for';
  if (!arrived.includes('authorization'))
    throw new CliError('A proxy removes the header Authorization.', { hint: credentialCure });
  if (status === 200 && health.success) return { says: releaseText(health.data), arrived };
  throw new CliError(`${client.baseUrl} doesn't answer as lfs-quota does: /health returned ${status}.`, {
    hint: "Check the URL, and that lfs-quota runs behind your proxy. On AWS it's the stack's output ApiUrl, or your publicUrl.",
    failure: status >= 500 || status === 429 ? 'unavailable' : 'failed',
  });
}

interface Pusher extends RepoPlace {
  readonly client: ApiClient;
  /** Of the token that was made for the check. */
  readonly tokenId: string | undefined;
  readonly canDelete: boolean;
  readonly says: string;
  readonly offered?: CliSubject['offered'];
}

/** Who pushes, and where. The admin token opens no repo, so it makes a token. @throws {CliError} @throws {UsageError} */
async function pusherOf(client: ApiClient, options: CheckOptions, context: CliContext): Promise<Pusher> {
  const { body } = await client.ask('showSession');
  const tenant = options.tenant ?? body.tenant;
  if (tenant === null || !isTenantName(tenant))
    throw new UsageError('The admin token needs --tenant. List them: lfs-quota tenant list');
  if (body.tenant === null) {
    const made = await client.ask('createToken', {
      params: { tenant },
      body: { scope: 'write', label: 'lfs-quota check', expiresInSeconds: tokenSeconds },
    });
    const { token, tokenId } = made.body;
    const pushing = clientFor(context, { baseUrl: client.baseUrl, token });
    const repo = options.repo ?? repoDefault;
    return { client: pushing, tenant, repo, tokenId, canDelete: true, says: `made one for ${tenant}` };
  }
  if (tenant !== body.tenant)
    throw new UsageError(`The token is of tenant ${body.tenant}. Leave out --tenant.`);
  const { writeRepos = [] } = body;
  if (body.scope === 'read' && writeRepos.length === 0)
    throw new CliError(`The token can't push: its scope is read.`, {
      failure: 'unauthorized',
      hint: `Create one that can: lfs-quota token create ${tenant} --scope write`,
    });
  const repo = options.repo ?? writeRepos[0] ?? body.repos?.[0] ?? repoDefault;
  const canDelete = body.scope === 'manage';
  return { client, tenant, repo, tokenId: undefined, canDelete, says: `${tenant}, ${body.scope}` };
}

/** What is pushed and pulled. It's random, so that no store has it already. */
function randomObject(sizeBytes: number) {
  const block = randomBytes(1024 ** 2);
  const length = Math.ceil(sizeBytes / block.length);
  const pieces = Array.from({ length }, (_, at) => block.subarray(0, sizeBytes - at * block.length));
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return { sizeBytes, pieces, oid: hash.digest('hex') };
}

class CheckedPush {
  readonly #deps: DownloadDeps;
  readonly #pusher: Pusher;
  /** It has the objects, too. */
  #isServe = false;
  /** It may be in the store. */
  sentOid: string | undefined;

  constructor(deps: DownloadDeps, pusher: Pusher) {
    this.#deps = deps;
    this.#pusher = pusher;
  }

  async pushAndPull(runStep: RunStep, size: number | undefined, arrived: string): Promise<void> {
    const { stop } = this.#deps;
    const { object, upload, verify } = await runStep('batch', () => this.#offerUpload(size));
    const { oid, sizeBytes } = object;
    const says = formatBytes(sizeBytes);
    const { baseUrl } = this.#pusher.client;
    const isHere = ({ href }: BatchAction) => href.startsWith(`${baseUrl}/`);
    this.#isServe = new URL(upload.href).pathname.includes('/_objects/');
    await runStep('proxy', async () => {
      // A proxy isn't asked by who asks the server itself, on its machine: its URLs have another origin.
      const link = verify ?? upload;
      if (!isHere(link)) return { says: otherUrl(baseUrl, new URL(link.href).origin) };
      const ofAddress = arrived.includes('x-forwarded-for') ? [] : [addressWarning];
      const sizeBytes = Number(/uploads=(\d+)/.exec(arrived)?.[1] ?? defaultSettings.objectBytesMax);
      const probe = async () => (this.#isServe ? uploadWarnings(upload, { sizeBytes, stop }) : []);
      const ofUploads = await this.#pusher.client.busy.during(() => 'testing the proxy', probe);
      return { says: 'fine', warnings: [...ofAddress, ...ofUploads] };
    });
    this.sentOid = oid;
    await runStep('upload', async () => {
      const put = { open: async () => Readable.from(object.pieces), to: 'store', upload, object } as const;
      await this.#transfer(upload, sizeBytes, (onBytes) => putObject({ stop }, { ...put, onBytes }));
      return { says };
    });
    if (verify)
      await runStep('verify', async () => {
        await this.#transfer(verify, 0, () => verifyObject('server', { stop, verify, object }));
        return { says: 'the server finds it' };
      });
    await runStep('download', async () => {
      const { download } = await this.#offer('download', object);
      await this.#transfer(required(download), sizeBytes, async (onBytes) => {
        const { signal, gotOn, end } = idleTimer(stop);
        const hash = createHash('sha256');
        try {
          for await (const piece of await read(required(download), signal, 'store')) {
            gotOn();
            onBytes(piece.length);
            hash.update(piece);
          }
        } finally {
          end();
        }
        if (hash.digest('hex') !== oid)
          throw new CliError('The store returned other bytes.', { hint: testStore });
      });
      return { says };
    });
  }

  /** It counts: half of what is left of the limits is for others, unless a size was asked for. */
  async #offerUpload(size: number | undefined) {
    const { client, tenant, repo, canDelete, offered } = this.#pusher;
    const wanted = size ?? (canDelete ? defaultBytes : smallBytes);
    const { limitBytes, usage } = (await client.ask('getSubscription', { params: { tenant } })).body;
    const month = await offered?.(client, tenant);
    const space = (limitBytes ?? Infinity) - (usage?.committedBytes ?? 0);
    const downloads = (month?.limitBytes ?? Infinity) - (month?.bytes ?? 0);
    const free = Math.min(space, downloads, wanted * 2);
    const most = Math.floor(size === undefined ? free / 2 : free);
    const little = downloads < space ? ': few downloads are left' : ': little space is left';
    // The disk may have less space than the limit.
    let refusal: string | undefined;
    for (let bytes = Math.min(wanted, most); ; bytes = Math.floor(bytes / 8)) {
      const object = randomObject(Math.max(bytes, Math.min(wanted, smallBytes)));
      const offer = await this.#offer('upload', object).catch((error: unknown) => {
        if (bytes <= smallBytes || !(error instanceof CliError && error.failure === 'refused')) throw error;
        refusal ??= `: of ${formatBytes(object.sizeBytes)}, ${error.message}`;
      });
      if (!offer) continue;
      const why = !canDelete ? ", as you can't delete it" : bytes < wanted ? (refusal ?? little) : '';
      const says = `${tenant}/${repo}, ${formatBytes(object.sizeBytes)}${why}`;
      return { ...offer, says, object, upload: required(offer.upload) };
    }
  }

  async #offer(operation: 'upload' | 'download', object: LfsObject) {
    const { tenant, repo, client } = this.#pusher;
    const asked = { operation, objects: [object] };
    const answers = await askBatch(this.#deps, ownRepo(client, { tenant, repo }), asked);
    if (answers === 'absent')
      throw new CliError(`${tenant}/${repo} not found.`, {
        failure: 'not-found',
        hint: `Create it, or pass another --repo: lfs-quota repo create ${tenant} ${repo}`,
      });
    const { actions = {}, error } = answers.get(object.oid) ?? {};
    if (!error) return actions;
    throw new CliError(`The server rejected it: ${printable(error.message)} (${error.code})`, {
      failure: 'refused',
      hint: `See its limit: lfs-quota usage ${tenant}`,
    });
  }

  /** Again while the other side is busy. The URL is a secret: of it the host alone is told. */
  async #transfer(
    action: BatchAction,
    sizeBytes: number,
    attempt: (onBytes: (bytes: number) => void) => Promise<unknown>,
  ): Promise<void> {
    const { host } = new URL(action.href);
    let sent = 0;
    const onBytes = (bytes: number) => {
      sent += bytes;
    };
    const says = () => `${host}: ${formatBytes(sent)} of ${formatBytes(sizeBytes)}`;
    const sending = this.#pusher.client.busy.during(says, () => sendAgain(this.#deps, { onBytes, attempt }));
    await sending.catch((error: unknown) => {
      if (!(error instanceof TransferError)) throw error;
      const usual = error.message.includes(' server ') ? readLogs : testStore;
      const ofObjects = host === new URL(this.#pusher.client.baseUrl).host ? undefined : host;
      throw new CliError(`${host}: ${error.message}`, {
        hint: this.#isServe ? transferCure(error.message, ofObjects) : usual,
        failure: error instanceof RefusedError ? 'failed' : 'unavailable',
      });
    });
  }
}

const readLogs = 'Read the logs of lfsBatch and lfsVerify: docs/runbook.md#find-a-request-in-the-logs';
const testStore =
  'Does your network let this machine reach it? Test the store: lfs-quota doctor s3://BUCKET --endpoint URL';

/** @throws {CliError} */
function required(action: BatchAction | undefined): BatchAction {
  if (action) return action;
  throw new CliError('The server offered no URL of the store.', { hint: readLogs });
}

/** @param client as it was given: the token of the check manages nothing. */
async function cleanUp(
  client: ApiClient,
  { pusher, oid, context }: { pusher: Pusher; oid: string | undefined; context: CliContext },
): Promise<{ says: string }> {
  const { tenant, repo, tokenId, canDelete } = pusher;
  const plan =
    canDelete && oid ? await client.find('deleteObject', { params: { tenant, repo, oid } }) : undefined;
  if (tokenId !== undefined) await client.find('revokeToken', { params: { tenant, tokenId } });
  if (oid && !canDelete) return { says: `kept: only an admin can delete ${oid.slice(0, 12)}… from ${repo}` };
  return { says: plan ? `deleted ${formatUntil(plan.dueAt, context.nowMs())}` : 'nothing is left' };
}
