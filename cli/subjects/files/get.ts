import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { filesPerRequest } from '../../../lambda/subjects/files/contract.ts';
import type { ApiClient, BodyOf } from '../../api-client.ts';
import { transferEach } from '../../at-once.ts';
import { downloadFile, giveName } from '../../download-file.ts';
import type { RepoPlace } from '../../lfs-batch.ts';
import type { DownloadDeps } from '../../transfer.ts';

/** Downloads of files: each arrives in a file beside its place, and then gets its name. */

const lifetimeSeconds = 1800;
const downloadsAtOnce = 4;

type Download = BodyOf<'requestDownloads'>['downloads'][number];

/** What became of a file. `exists`: it was there, so it wasn't asked for. */
export interface GetOutcome {
  readonly name: string;
  readonly file: string;
  readonly state: 'downloaded' | 'exists' | 'failed' | Exclude<Download['state'], 'download'>;
  readonly bytes?: number | undefined;
  readonly message?: string;
}

interface Getting {
  readonly client: ApiClient;
  readonly place: RepoPlace;
  readonly names: readonly string[];
  /** The folder below which each gets its name. */
  readonly output: string;
  readonly isForced: boolean;
  readonly nowMs: () => number;
  readonly onTotal: (bytes: number) => void;
  readonly onBytes: (bytes: number) => void;
  readonly onOutcome: (outcome: GetOutcome) => void;
}

/** @throws {CliError} @throws {TransferError} when the store doesn't respond any more. */
export async function getFiles(deps: DownloadDeps, getting: Getting): Promise<void> {
  const { onOutcome, output } = getting;
  const fileOf = (name: string) => path.join(output, name);
  await transferEach(deps, {
    atOnce: downloadsAtOnce,
    itemsOf: (stop) => offers({ ...deps, stop }, { ...getting, fileOf }),
    nameOf: ({ name }) => name,
    transfer: async (download, stop) => {
      const { name, bytes } = download;
      const file = fileOf(name);
      const outcome = await getFile({ ...deps, stop }, getting, { download, file });
      onOutcome({ name, file, bytes, ...outcome });
    },
    onFailed: ({ name, bytes }, { message }) =>
      onOutcome({ name, file: fileOf(name), bytes, state: 'failed', message }),
  });
}

async function* offers(
  deps: DownloadDeps,
  getting: Getting & { fileOf: (name: string) => string },
): AsyncGenerator<Download> {
  const { names, isForced, fileOf, onTotal, onOutcome } = getting;
  const there = new Set(names.filter((name) => !isForced && existsSync(fileOf(name))));
  for (const name of there) onOutcome({ name, file: fileOf(name), state: 'exists' });
  const wanted = names.filter((name) => !there.has(name));
  for (let at = 0; at < wanted.length; at += filesPerRequest) {
    const downloads = await request(deps, getting, wanted.slice(at, at + filesPerRequest));
    onTotal(downloads.reduce((sum, { bytes = 0 }) => sum + bytes, 0));
    yield* downloads;
  }
}

/** What is asked for counts to the month. @throws {CliError} */
async function request(
  deps: DownloadDeps,
  { client, place }: Getting,
  names: readonly string[],
): Promise<readonly Download[]> {
  const body = { files: names.map((name) => ({ name })), lifetimeSeconds };
  const answer = await client.askAgain(deps, 'requestDownloads', { params: { ...place }, body });
  return answer.body.downloads.map((download, index) => ({ ...download, name: names[index] ?? '' }));
}

/** @throws {TransferError} what the last attempt failed with. @throws what the disk fails with. */
async function getFile(
  deps: DownloadDeps,
  getting: Getting,
  { download: first, file }: { download: Download; file: string },
): Promise<Pick<GetOutcome, 'state' | 'message'>> {
  if (first.state !== 'download') return { state: first.state };
  let download = first;
  await mkdir(path.dirname(file), { recursive: true });
  // What another call has left may be of another file that had this name.
  const part = `${file}.${randomUUID().slice(0, 8)}.part`;
  let isWhole = false;
  try {
    const fetched = await downloadFile(deps, {
      part,
      sizeBytes: first.bytes ?? 0,
      nextOffer: async () => {
        if (Date.parse(download.expiresAt ?? '') < getting.nowMs())
          [download = first] = await request(deps, getting, [first.name]);
        return download.url === undefined ? { kind: 'gone' } : { kind: 'offered', href: download.url };
      },
      onBytes: getting.onBytes,
    });
    if (fetched.kind === 'gone') return { state: 'deleted' };
    if (fetched.kind === 'refused') return { state: 'failed', message: fetched.message };
    isWhole = true;
    await giveName(part, file, getting);
    return { state: 'downloaded' };
  } finally {
    if (!isWhole) await rm(part, { force: true });
  }
}
