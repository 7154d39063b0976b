import { createInterface } from 'node:readline';
import * as z from 'zod';
import { parseJson } from '../../../lambda/core/rules/text.ts';
import type { Register } from '../../command.ts';
import type { CliContext } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { type BatchAction, batchAction, type LfsObject } from '../../lfs-batch.ts';
import { type DownloadDeps, TransferError } from '../../transfer.ts';
import { PushedFile, UploadError } from './pushed-file.ts';
import { uploadInChunks } from './upload.ts';

/**
 * `agent`: a custom transfer of git-lfs, for what its own PUT can't carry. git-lfs starts one for a push, sends a message a
 * line, and waits for an object to be complete before it sends the next one. Of a batch with a large object, its small ones
 * come here too. After `complete`, git-lfs itself calls the object's `verify` action. It tries nothing again that failed
 * here, and shows what `error` says. What is written to standard error only GIT_TRACE shows.
 */

const messageShape = z.discriminatedUnion('event', [
  z.object({ event: z.literal('init'), operation: z.string() }),
  z.object({
    event: z.literal('upload'),
    oid: z.string().regex(/^[0-9a-f]{64}$/),
    size: z.int().min(0),
    path: z.string(),
    action: batchAction,
  }),
  z.object({ event: z.literal('terminate') }),
]);

type Upload = Extract<z.output<typeof messageShape>, { event: 'upload' }>;

/** git-lfs draws its progress anew for each message. */
const progressMs = 100;
/** git-lfs shows it in brackets, and does nothing else with it. */
const errorCode = 1;

export const registerAgent: Register = (program, context) => {
  program
    .command('agent', { hidden: true })
    .description('Upload large files for git-lfs (set up by connect)')
    .action(() => run(context));
};

/** @throws {CliError} for what git-lfs doesn't say. */
export async function run(context: CliContext): Promise<void> {
  if (!context.input) throw notGitLfs();
  const { input, out } = context;
  const gone = new AbortController();
  const stopped = new Promise<void>((resolve) =>
    gone.signal.addEventListener('abort', () => resolve(), { once: true }),
  );
  const deps: DownloadDeps = {
    stop: gone.signal,
    sleep: (durationMs) => Promise.race([context.sleep(durationMs), stopped]),
  };
  const lines = createInterface({ input });
  // It ends when git-lfs has: what isn't uploaded then is asked for by the next push.
  lines.once('close', () => gone.abort());
  for await (const line of lines) {
    const { success, data: message } = messageShape.safeParse(parseJson(line));
    if (!success) throw notGitLfs();
    if (message.event === 'terminate') return;
    if (message.event === 'upload') await upload(deps, message, context);
    else if (message.operation === 'upload') out('{}\n');
    else out(`${JSON.stringify({ error: { code: errorCode, message: onlyUploads } })}\n`);
  }
}

const notGitLfs = () =>
  new CliError('Only git-lfs can start this command.', {
    hint: 'Run this in your clone, then push: lfs-quota connect TENANT REPO',
  });

const onlyUploads = 'lfs-quota agent can only upload. Run in your clone: lfs-quota connect TENANT REPO';

async function upload(deps: DownloadDeps, message: Upload, { out, err, nowMs }: CliContext): Promise<void> {
  const { oid, size: sizeBytes, path, action } = message;
  const tell = (event: Readonly<Record<string, unknown>>) => out(`${JSON.stringify({ ...event, oid })}\n`);
  let [bytesSoFar, toldBytes, toldMs] = [0, 0, 0];
  const progress = () => {
    tell({ event: 'progress', bytesSoFar, bytesSinceLast: bytesSoFar - toldBytes });
    [toldBytes, toldMs] = [bytesSoFar, nowMs()];
  };
  const onBytes = (bytes: number) => {
    bytesSoFar += bytes;
    if (nowMs() - toldMs >= progressMs) progress();
  };
  const object = { oid, sizeBytes };
  try {
    await (isOfChunks(action) ? uploadInChunks : uploadWhole)(deps, { action, object, path, onBytes });
    if (bytesSoFar !== toldBytes) progress();
    tell({ event: 'complete' });
  } catch (error) {
    if (deps.stop.aborted) return;
    if (!(error instanceof UploadError || error instanceof TransferError)) err(`${errorText(error)}\n`);
    tell({ event: 'complete', error: { code: errorCode, message: adviceFor(error) } });
  }
}

const isOfChunks = ({ href }: BatchAction) =>
  /\/info\/lfs\/chunks\/[0-9a-f]{64}\/[0-9a-f]{32}$/.test(new URL(href).pathname);

async function uploadWhole(
  deps: DownloadDeps,
  input: { action: BatchAction; object: LfsObject; path: string; onBytes: (bytes: number) => void },
): Promise<void> {
  const { action, object, path, onBytes } = input;
  const file = await PushedFile.open(path, object.sizeBytes);
  try {
    await file.put(deps, { ...object, startByte: 0 }, { nextUpload: async () => action, onBytes });
  } finally {
    await file.close();
  }
}

function adviceFor(error: unknown): string {
  if (error instanceof UploadError) return error.message;
  if (error instanceof TransferError) return `${error.message} Push again: it continues.`;
  return 'This is a bug in lfs-quota. See it with: GIT_TRACE=1 git push';
}

const errorText = (error: unknown) =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
