import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { filesPerRequest } from '../../../lambda/subjects/files/contract.ts';
import { errorCode } from '../../../local/system/durable-file.ts';
import type { ApiClient, BodyOf } from '../../api-client.ts';
import { transferEach } from '../../at-once.ts';
import { downloadFile, giveName } from '../../download-file.ts';
import type { RepoPlace } from '../../lfs-batch.ts';
import type { DownloadDeps } from '../../transfer.ts';
import type { Outcome } from './outcome.ts';

const lifetimeSeconds = 1800;
const downloadsAtOnce = 4;

type Download = BodyOf<'requestDownloads'>['downloads'][number];

interface Getting {
  readonly client: ApiClient;
  readonly place: RepoPlace;
  /** The folder below which each gets its name. */
  readonly output: string;
  readonly isForced: boolean;
  readonly nowMs: () => number;
  readonly onTotal: (bytes: number) => void;
  readonly onBytes: (bytes: number) => void;
  readonly onOutcome: (outcome: Outcome) => void;
}

/** @param names each is one. @throws {CliError} @throws {TransferError} when the store doesn't respond any more. */
export async function getFiles(
  deps: DownloadDeps,
  names: readonly string[],
  getting: Getting,
): Promise<void> {
  const note = ({ name, bytes }: Download, { state, why }: Pick<Outcome, 'state' | 'why'>) =>
    getting.onOutcome({ name, bytes, state, ...(why !== undefined && { why: `${name}: ${why}` }) });
  await transferEach(deps, {
    atOnce: downloadsAtOnce,
    itemsOf: (stop) => offers({ ...deps, stop }, names, getting),
    nameOf: ({ name }) => name,
    transfer: async (download, stop) => note(download, await getFile({ ...deps, stop }, download, getting)),
    onFailed: (download, { message: why }) => note(download, { state: 'failed', why }),
  });
}

async function* offers(
  deps: DownloadDeps,
  names: readonly string[],
  getting: Getting,
): AsyncGenerator<Download> {
  const { output, isForced, onTotal, onOutcome } = getting;
  const isHere = (file: string) => existsSync(file) && !isFolder(file);
  const here = new Set(names.filter((name) => !isForced && isHere(path.join(output, name))));
  for (const name of here) onOutcome({ name, state: 'exists' });
  const wanted = names.filter((name) => !here.has(name));
  for (let at = 0; at < wanted.length; at += filesPerRequest) {
    const downloads = await request(deps, wanted.slice(at, at + filesPerRequest), getting);
    onTotal(downloads.reduce((sum, { bytes = 0 }) => sum + bytes, 0));
    yield* downloads;
  }
}

/** What is asked for counts to the month. @throws {CliError} */
async function request(
  deps: DownloadDeps,
  names: readonly string[],
  { client, place }: Getting,
): Promise<readonly Download[]> {
  const body = { files: names.map((name) => ({ name })), lifetimeSeconds };
  const answer = await client.askAgain(deps, 'requestDownloads', { params: { ...place }, body });
  return answer.body.downloads.map((download, index) => ({ ...download, name: names[index] ?? '' }));
}

const isFolder = (file: string) => statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** Makes the folder of a file, or says why it can't be there: a store can have `a` and `a/b`. @throws what the disk fails with. */
async function inTheWay(file: string): Promise<string | undefined> {
  const folder = path.dirname(file);
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    if (!['EEXIST', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw error;
    return `${folder} can't be a folder here`;
  }
  return isFolder(file) ? `${file} is a folder here` : undefined;
}

/** @throws {TransferError} what the last attempt failed with. @throws what the disk fails with. */
async function getFile(
  deps: DownloadDeps,
  first: Download,
  getting: Getting,
): Promise<Pick<Outcome, 'state' | 'why'>> {
  const { name, state, bytes: sizeBytes = 0 } = first;
  if (state !== 'download') return { state, why: state === 'missing' ? 'not found' : 'deleted' };
  let download = first;
  const file = path.join(getting.output, name);
  const why = await inTheWay(file);
  if (why !== undefined) return { state: 'failed', why };
  // What another call has left may be of another file that had this name.
  const part = `${file}.${randomUUID().slice(0, 8)}.part`;
  const fetched = await downloadFile(deps, {
    part,
    sizeBytes,
    nextOffer: async () => {
      const isOver = Date.parse(download.expiresAt ?? '') < getting.nowMs();
      if (isOver) [download = first] = await request(deps, [name], getting);
      return download.url === undefined ? { kind: 'gone' } : { kind: 'offered', href: download.url };
    },
    onBytes: getting.onBytes,
  }).catch(async (error: unknown) => {
    await rm(part, { force: true });
    throw error;
  });
  if (fetched.kind === 'complete') {
    await giveName(part, file, getting);
    return { state: 'downloaded' };
  }
  await rm(part, { force: true });
  return fetched.kind === 'gone'
    ? { state: 'deleted', why: 'deleted' }
    : { state: 'failed', why: fetched.message };
}
