import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { isTenantName } from '../../lambda/rules/names.ts';
import { releaseText } from '../../lambda/rules/release.ts';
import { errorCode } from '../../local/system/durable-file.ts';
import type { ApiClient } from '../api-client.ts';
import type { Register } from '../command.ts';
import type { CliContext } from '../context.ts';
import { CliError, UsageError } from '../errors.ts';
import { type DownloadDeps, retrying } from '../export/transfer.ts';
import { askBatch, type BatchAction, mediaType, ownRepo, type RepoPlace } from '../lfs-batch.ts';
import { parseRepo, parseTenant } from '../options.ts';
import { formatUntil } from '../render.ts';
import { clientFor, openClient } from '../server.ts';
import { printable } from '../terminal.ts';

/** `check`: pushes and pulls a small object through a deployment, as git-lfs does, and says which step failed. */

const objectBytes = 1000;
const repoDefault = 'lfs-quota-check';
/** Of the token that the admin token makes for it. It expires by itself if the check is killed. */
const tokenSeconds = 300;
/** The store gets as long as the API. */
const transferMs = 35_000;

interface CheckOptions {
  readonly token?: string;
  readonly tenant?: string;
  readonly repo?: string;
  readonly json?: boolean;
}

export const registerCheck: Register = (program, context) => {
  program
    .command('check')
    .summary('Test a deployment: push and pull 1 kB')
    .description('Test a deployment: push and pull 1 kB, and delete it again')
    .argument('[url]', 'server URL (env: LFS_QUOTA_URL; default: your login)')
    .option('--token <token>', 'admin token, or one that can push (env: LFS_QUOTA_TOKEN)')
    .option('--tenant <name>', 'where to push, with the admin token', parseTenant)
    .option('--repo <repo>', `where to push (default: ${repoDefault})`, parseRepo)
    .option('--json', 'print one JSON object at the end')
    .action(async (url: string | undefined, options: CheckOptions) => {
      const client = await openClient({ ...options, ...(url !== undefined && { url }) }, context);
      await check(client, options, context);
    });
};

/** Runs a step, and prints what it says of itself. */
type RunStep = <T extends { readonly says: string }>(step: string, run: () => Promise<T>) => Promise<T>;

/** @throws {CliError} what the first step failed with. */
async function check(client: ApiClient, options: CheckOptions, context: CliContext): Promise<void> {
  const steps: { step: string; ok: boolean; detail: string }[] = [];
  const note = (step: string, ok: boolean, detail: string) => {
    steps.push({ step, ok, detail });
    if (options.json) return;
    context.out(`${(ok ? 'ok' : 'FAIL').padEnd(6)}${step.padEnd(10)}${printable(detail)}\n`);
  };
  const runStep: RunStep = async (step, run) => {
    try {
      const value = await run();
      note(step, true, value.says);
      return value;
    } catch (error) {
      note(step, false, error instanceof CliError ? error.message : '');
      throw error;
    }
  };
  const abort = new AbortController();
  const release = context.onInterrupt?.(() =>
    abort.abort(new CliError('Stopped.', { hint: 'Run it again.', failure: 'interrupted' })),
  );
  try {
    await runStep('health', () => readHealth(client));
    const pusher = await runStep('token', () => pusherOf(client, options, context));
    const object = new CheckedObject({ stop: abort.signal, sleep: context.sleep }, pusher);
    // What is left is removed first, and what failed is said at the end.
    const [failed] = await Promise.allSettled([object.pushAndPull(runStep)]);
    const cleaning = runStep('clean up', () => cleanUp(client, { pusher, object, context }));
    const [left] = await Promise.allSettled([cleaning]);
    for (const ended of [failed, left]) if (ended.status === 'rejected') throw ended.reason;
  } finally {
    release?.();
    const works = steps.every(({ ok }) => ok);
    if (options.json) context.out(`${JSON.stringify({ url: client.baseUrl, works, steps })}\n`);
    else if (works) context.out(`\n${client.baseUrl} works.\n`);
  }
}

const healthShape = z.object({
  status: z.literal('ok'),
  version: z.string().default('an older version'),
  commit: z.string().nullable().default(null),
});

async function readHealth(client: ApiClient): Promise<{ says: string }> {
  const asked = { method: 'GET', path: '/health', mediaType: 'application/json' } as const;
  const { status, body } = await client.exchange(asked);
  const health = healthShape.safeParse(body);
  if (status === 200 && health.success) return { says: releaseText(health.data) };
  throw new CliError(`${client.baseUrl} doesn't answer as lfs-quota does: /health returned ${status}.`, {
    hint: "Check the URL. On AWS it's the stack's output ApiUrl, or your publicUrl.",
    failure: status >= 500 || status === 429 ? 'unavailable' : 'failed',
  });
}

interface Pusher extends RepoPlace {
  readonly client: ApiClient;
  /** Of the token that was made for the check. */
  readonly tokenId: string | undefined;
  readonly canDelete: boolean;
  readonly says: string;
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
class CheckedObject {
  readonly #deps: DownloadDeps;
  readonly #pusher: Pusher;
  readonly #bytes = randomBytes(objectBytes);
  readonly oid = createHash('sha256').update(this.#bytes).digest('hex');
  /** It may be in the store. */
  isSent = false;

  constructor(deps: DownloadDeps, pusher: Pusher) {
    this.#deps = deps;
    this.#pusher = pusher;
  }

  async pushAndPull(runStep: RunStep): Promise<void> {
    const { upload, verify } = await runStep('batch', async () => {
      const { upload: found, verify } = await this.#offer('upload');
      return { says: `${this.#pusher.tenant}/${this.#pusher.repo}`, upload: offered(found), verify };
    });
    this.isSent = true;
    const says = `${objectBytes} bytes`;
    await runStep('upload', async () => {
      await this.#send('store', upload, { method: 'PUT', body: this.#bytes });
      return { says };
    });
    if (verify)
      await runStep('verify', async () => {
        const body = JSON.stringify({ oid: this.oid, size: objectBytes });
        const headers = { accept: mediaType, 'content-type': mediaType };
        await this.#send('server', verify, { method: 'POST', body, headers });
        return { says: 'the server finds it' };
      });
    await runStep('download', async () => {
      const { download } = await this.#offer('download');
      const pulled = await this.#send('store', offered(download), {});
      if (this.#bytes.equals(pulled)) return { says };
      throw new CliError(`The store returned ${pulled.length} other bytes.`, { hint: testStore });
    });
  }

  async #offer(operation: 'upload' | 'download'): Promise<Record<string, BatchAction | undefined>> {
    const { tenant, repo, client } = this.#pusher;
    const objects = [{ oid: this.oid, sizeBytes: objectBytes }];
    const answers = await askBatch(this.#deps, ownRepo(client, { tenant, repo }), { operation, objects });
    if (answers === 'absent')
      throw new CliError(`${tenant}/${repo} not found.`, {
        failure: 'not-found',
        hint: `Create it, or pass another --repo: lfs-quota repo create ${tenant} ${repo}`,
      });
    const { actions = {}, error } = answers.get(this.oid) ?? {};
    if (!error) return actions;
    throw new CliError(`The server rejected it: ${printable(error.message)} (${error.code})`, {
      failure: 'refused',
      hint: `See its limit: lfs-quota usage ${tenant}`,
    });
  }

  /** Again while the other side is busy. The URL is a secret: of it the host alone is told. */
  #send(to: 'store' | 'server', { href, header }: BatchAction, init: RequestInit): Promise<Buffer> {
    const { stop } = this.#deps;
    const hint = to === 'store' ? testStore : readLogs;
    const other = `The ${to} at ${new URL(href).host}`;
    return retrying(this.#deps, async () => {
      try {
        const headers = { ...header, ...(init.headers as Record<string, string> | undefined) };
        const signal = AbortSignal.any([stop, AbortSignal.timeout(transferMs)]);
        const response = await fetch(href, { ...init, headers, redirect: 'manual', signal });
        const body = Buffer.from(await response.arrayBuffer());
        const { status } = response;
        if (status === 200) return { kind: 'done', value: body };
        const [, code] = /<Code>(\w+)<\/Code>/.exec(body.toString('latin1')) ?? [];
        const isForNow = status >= 500 || status === 429;
        const message = `${other} returned ${status}${code === undefined ? '' : ` (${code})`}.`;
        const error = new CliError(message, { hint, failure: isForNow ? 'unavailable' : 'failed' });
        if (!isForNow) throw error;
        return { kind: 'failed', error };
      } catch (error) {
        stop.throwIfAborted();
        if (error instanceof CliError) throw error;
        const why = errorCode(error) ?? (error instanceof Error ? error.name : '');
        return {
          kind: 'failed',
          error: new CliError(`${other} doesn't respond (${why}).`, { hint, failure: 'unavailable' }),
        };
      }
    });
  }
}

const readLogs = 'Read the logs of lfsBatch and lfsVerify: docs/runbook.md#find-a-request-in-the-logs';
const testStore =
  'Does your network let this machine reach it? Test the store: lfs-quota doctor s3://BUCKET --endpoint URL';

/** @throws {CliError} */
function offered(action: BatchAction | undefined): BatchAction {
  if (action) return action;
  throw new CliError('The server offered no URL of the store.', { hint: readLogs });
}

/** @param client as it was given: the token of the check manages nothing. */
async function cleanUp(
  client: ApiClient,
  { pusher, object, context }: { pusher: Pusher; object: CheckedObject; context: CliContext },
): Promise<{ says: string }> {
  const { tenant, repo, tokenId, canDelete } = pusher;
  const { oid, isSent } = object;
  const plan =
    canDelete && isSent ? await client.find('deleteObject', { params: { tenant, repo, oid } }) : undefined;
  if (tokenId !== undefined) await client.find('revokeToken', { params: { tenant, tokenId } });
  if (isSent && !canDelete)
    return { says: `kept: only an admin can delete ${oid.slice(0, 12)}… from ${repo}` };
  return { says: plan ? `deleted ${formatUntil(plan.dueAt, context.nowMs())}` : 'nothing is left' };
}
