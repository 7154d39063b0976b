import { createHash } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rm, stat, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { isOid, objectKey } from '../../../lambda/core/rules/names.ts';
import { formatBytes } from '../../../lambda/core/rules/sizes.ts';
import { parseJson } from '../../../lambda/core/rules/text.ts';
import { formatFor } from '../../../lambda/subjects/exports/rules/archive-formats.ts';
import { type ExportSubject, entrySizesOf, Layout } from '../../../lambda/subjects/exports/rules/layout.ts';
import { distinctObjects, type StoredObject } from '../../../lambda/subjects/exports/rules/objects.ts';
import { segmentsIn } from '../../../lambda/subjects/exports/rules/orders.ts';
import { errorCode, readIfThere, writeDurably } from '../../../local/system/durable-file.ts';
import type { ApiClient } from '../../api-client.ts';
import type { CliContext } from '../../context.ts';
import { giveName, noLink, sha256Of, writeAt } from '../../download-file.ts';
import { CliError } from '../../errors.ts';
import { lockFile } from '../../file-lock.ts';
import { objectPages } from '../../list-pages.ts';
import { bytesOf } from '../../move/objects.ts';
import type { WaitLine } from '../../progress.ts';
import { firstLines, formatCount, formatObjects } from '../../render.ts';
import { type DownloadDeps, TransferProgress, transferring } from '../../transfer.ts';
import { checkMayDownload, downloadObjects } from './lfs-download.ts';

/**
 * An archive on this machine's disk, made from the objects themselves. Each is a file of its own until all are there: its
 * name is its oid, so it says itself whether it is whole. Then what the archive has is written down, and each object is
 * moved to its place in it.
 *
 * While it is made, a folder beside it has `OID` (an object), `OID.part` (one that is arriving), `contents` (what the
 * archive has) and `archive.tar`. Without `contents`, the objects are not all there.
 */

/** As many as the memory of one process takes with ease, and as an export on the server may have. */
const objectsMax = 2_000_000;
/** Broken objects that an error names. */
const namedMax = 3;
/** Once so many bytes have been moved, their files are removed: until then they take room twice. */
const movedBytesMax = 64 * 1024 ** 2;
/** About what a head takes in the archive, with padding and a line of the index. */
const headBytes = 1024;

interface LocalWish {
  readonly tenant: string;
  /** null: all repos. */
  readonly repo: string | null;
  /** undefined: all objects. */
  readonly wanted: readonly { readonly oid: string; readonly name?: string }[] | undefined;
}

export interface LocalExport {
  readonly objectCount: number;
  readonly sizeBytes: number;
  /** Objects that were asked for or listed, and are not in the archive. */
  readonly missing: ExportSubject['missing'];
}

const size = z.int().nonnegative();
const oid = z.string().refine(isOid);
/** What the archive has. Once it is written down it stays so. */
const contentsShape = z.object({
  startedAtMs: size.max(8.64e15),
  missing: z.array(z.object({ oid, sizeBytes: size.nullable() })),
  /** In the order of the oids. */
  objects: z.array(z.tuple([oid, size])),
});
type Contents = z.output<typeof contentsShape>;

interface Running extends DownloadDeps {
  readonly client: ApiClient;
  readonly context: CliContext;
  readonly line: WaitLine;
  /** The folder with what is there of the archive. */
  readonly folder: string;
}

/**
 * Makes an archive. After a stop or a kill, the same call goes on with what is there: another wish has another folder
 * beside the archive.
 *
 * @param input.goOn how to go on, for a person.
 * @throws {CliError}
 */
export async function exportLocally(
  { client, context }: { client: ApiClient; context: CliContext },
  input: { wish: LocalWish; file: string; isForced: boolean; goOn: string },
): Promise<LocalExport> {
  const { wish, file, isForced, goOn } = input;
  const asked = createHash('sha256').update(JSON.stringify([client.baseUrl, wish]));
  const folder = `${file}.${asked.digest('hex').slice(0, 8)}.parts`;
  const shown = { isQuiet: false, totalBytes: 0, file, goOn };
  return transferring(context, shown, async ({ stop, sleep }, { line }) => {
    const running = { client, context, line, stop, sleep, folder };
    const unlock = await lockFile(folder, 'exports to it');
    try {
      await nameLeftovers(running, file);
      const contents = (await readContents(folder)) ?? (await gather(running, wish));
      const sizeBytes = await writeArchive(running, wish, contents);
      line.clear();
      await giveName(archiveIn(folder), file, { isForced });
      await rm(folder, { recursive: true });
      return { objectCount: contents.objects.length, sizeBytes, missing: contents.missing };
    } finally {
      await unlock();
    }
  });
}

const archiveIn = (folder: string) => path.join(folder, 'archive.tar');
const contentsIn = (folder: string) => path.join(folder, 'contents');

/** Names what lies beside the archive of older versions and other wishes: nothing else removes it. */
async function nameLeftovers({ context, folder }: Running, file: string): Promise<void> {
  const [own, start] = [path.basename(folder), path.basename(file)];
  const isLeft = (name: string) =>
    name.startsWith(start) &&
    /^(\.[0-9a-f]{8})?\.(parts|partial(\..*)?)$/.test(name.slice(start.length)) &&
    name !== own;
  const names = (await readdir(path.dirname(file))).filter(isLeft).sort();
  if (names.length > 0)
    context.err(`Left by other exports to ${file}, not used by this one: ${names.join(', ')}\n`);
}

/** What an earlier call has decided; undefined if it has not, or its archive has its name already. @throws {CliError} */
async function readContents(folder: string): Promise<Contents | undefined> {
  const text = await readIfThere(contentsIn(folder));
  if (text === undefined || !existsSync(archiveIn(folder))) return undefined;
  const { data } = contentsShape.safeParse(parseJson(text));
  if (data === undefined) throw harmed(folder);
  return data;
}

function harmed(folder: string): CliError {
  const hint = `Delete ${folder}, and start again.`;
  return new CliError(`${folder} was changed by another program or a broken disk.`, { hint });
}

const pathOf = ({ tenant, repo }: LocalWish) => (repo === null ? tenant : `${tenant}/${repo}`);

/** Fetches all objects, and writes down what the archive has. @throws {CliError} */
async function gather(running: Running, wish: LocalWish): Promise<Contents> {
  const { context, folder } = running;
  const startedAtMs = context.nowMs();
  await checkMayDownload(running, wish);
  const { tenant, wanted } = wish;
  const listed = await listObjects(running, wish);
  const names = existsSync(folder) ? await readdir(folder) : [];
  const there = await wholeObjects(running, names);
  if (listed.objects.length + there.size === 0)
    throw new CliError(`${pathOf(wish)} stores ${wanted ? 'none of these objects' : 'nothing'}.`, {
      hint: `List the objects: lfs-quota files list --tenant ${tenant}`,
    });
  if (there.size > 0)
    context.err(
      `Resuming: ${formatCount(there.size)} of ${formatObjects(listed.objects.length)} are downloaded.\n`,
    );
  const pending = listed.objects.filter(({ oid }) => !there.has(oid));
  await checkRoom(running, { objects: listed.objects, pending, names });
  await mkdir(folder, { recursive: true });
  // Of an archive that has its name already: what it had is not what this one has.
  for (const file of [contentsIn(folder), archiveIn(folder)]) await rm(file, { force: true });
  const gone = await fetchMissing(running, { tenant, objects: listed.objects, pending, there });
  const missing = [...listed.missing, ...gone].filter(({ oid }) => !there.has(oid));
  const contents = { startedAtMs, missing, objects: [...there].sort(([a], [b]) => (a < b ? -1 : 1)) };
  await writeFile(archiveIn(folder), '', { flag: 'wx' });
  await writeDurably(contentsIn(folder), JSON.stringify(contents));
  return contents;
}

/** Lists what an export is to have, and what was asked for and is not stored. @throws {CliError} */
async function listObjects(
  { client, context, line, stop }: Running,
  { tenant, repo, wanted }: LocalWish,
): Promise<{ objects: readonly StoredObject[]; missing: ExportSubject['missing'] }> {
  const only = wanted && new Set(wanted.map(({ oid }) => oid));
  const listed: StoredObject[] = [];
  const pages = objectPages(client, { tenant, repo });
  for await (const { body } of pages) {
    stop.throwIfAborted();
    // No oid says whether their bytes are right.
    if (body.files)
      throw new CliError(`${tenant}/${body.files[0]?.repo} is a repo of kind files.`, {
        hint: `Use: lfs-quota export start ${tenant}`,
      });
    for (const { oid, sizeBytes, repo: of } of body.objects) {
      if (only?.has(oid) !== false)
        listed.push({ oid, sizeBytes, etag: '', key: objectKey({ tenant, repo: of, oid }) });
    }
    if (Math.max(listed.length, only?.size ?? 0) > objectsMax)
      throw new CliError(`There are more than ${formatCount(objectsMax)} objects.`, {
        hint: 'Export repos individually, with --repo.',
      });
    if (line.inPlace) line.show(`listing: ${formatCount(listed.length)} objects`);
  }
  const { objects, conflicts } = distinctObjects(listed);
  line.clear();
  if (conflicts.length > 0)
    context.err(
      `${formatObjects(conflicts.length)} left out: another repo has the oid with a different size, so one of them is broken.\n`,
    );
  const found = new Set(objects.map(({ oid }) => oid));
  const absent = (wanted ?? []).filter(({ oid }) => !found.has(oid));
  return { objects, missing: absent.map(({ oid }) => ({ oid, sizeBytes: null })) };
}

/** Objects that earlier calls have fetched: oid → size. What has other bytes is removed. */
async function wholeObjects(
  { line, stop, folder }: Running,
  names: readonly string[],
): Promise<Map<string, number>> {
  const there = new Map<string, number>();
  for (const oid of names.filter(isOid)) {
    if (line.inPlace) line.show(`checking existing files: ${formatObjects(there.size)}`);
    const file = await open(path.join(folder, oid));
    try {
      const { size: sizeBytes } = await file.stat();
      if ((await sha256Of(file, { sizeBytes, stop })) === oid) there.set(oid, sizeBytes);
    } finally {
      await file.close();
    }
    if (!there.has(oid)) await rm(path.join(folder, oid));
  }
  line.clear();
  return there;
}

/** All objects that are stored, and those that are not there. */
type ObjectLists = Readonly<Record<'objects' | 'pending', readonly StoredObject[]>>;

/** @param input.there grows by what is downloaded. @returns what is gone. @throws {CliError} if others are broken. */
async function fetchMissing(
  running: Running,
  input: ObjectLists & { readonly tenant: string; readonly there: Map<string, number> },
): Promise<ExportSubject['missing']> {
  const { context, line, folder } = running;
  const { tenant, objects, pending, there } = input;
  const totalBytes = bytesOf(objects);
  const progress = new TransferProgress(context, line);
  const gone: { oid: string; sizeBytes: number }[] = [];
  const broken: string[] = [];
  let bytes = totalBytes - bytesOf(pending);
  const more = () => `${formatCount(there.size)} of ${formatCount(objects.length)} objects`;
  await downloadObjects(running, {
    tenant,
    objects: pending,
    fileOf: (oid) => path.join(folder, oid),
    onBytes: (arrived) => {
      bytes += arrived;
      progress.show({ bytes, totalBytes }, more);
    },
    onFetched: ({ oid, sizeBytes }, fetched) => {
      if (fetched.kind === 'complete') there.set(oid, sizeBytes);
      else if (fetched.kind === 'gone') gone.push({ oid, sizeBytes });
      else broken.push(`${oid}: ${fetched.message}`);
    },
  });
  if (broken.length > 0) {
    const named = firstLines(broken, namedMax).join('\n');
    throw new CliError(`${formatObjects(broken.length)} can't be exported. The others are there.\n${named}`, {
      hint: 'Run the command again. If an object keeps failing, delete it with `lfs-quota files delete`, and push the right bytes.',
    });
  }
  return gone;
}

/** @throws {CliError} when a disk has not the room for what is to come. */
async function checkRoom(
  { folder }: Running,
  { objects, pending, names }: ObjectLists & { readonly names: readonly string[] },
): Promise<void> {
  const { bavail, bsize } = await statfs(path.dirname(folder));
  const arriving = new Set(names.filter((name) => name.endsWith('.part')));
  let bytes = 0;
  for (const { oid, sizeBytes } of pending) {
    bytes += Math.ceil(sizeBytes / bsize) * bsize;
    if (arriving.has(`${oid}.part`)) bytes -= (await stat(path.join(folder, `${oid}.part`))).size;
  }
  // What moves into the archive is there twice for a while.
  const largest = objects.reduce((most, { sizeBytes }) => Math.max(most, sizeBytes), 0);
  bytes += Math.min(bytesOf(objects), movedBytesMax + largest);
  bytes += headBytes * objects.length;
  const freeBytes = bavail * bsize;
  if (freeBytes >= bytes) return;
  throw new CliError(
    `${folder} needs ${formatBytes(bytes)} more, and its disk has ${formatBytes(freeBytes)} free.`,
    { hint: 'Free up space, or use a file on another disk.' },
  );
}

/**
 * Moves all objects into the archive. Each has its place there, so what an earlier call has written is written again, but
 * for the bytes of objects that have no file any more.
 *
 * @returns how long it is. @throws {CliError} if bytes have changed on the disk.
 */
async function writeArchive(running: Running, wish: LocalWish, contents: Contents): Promise<number> {
  const { context, line, folder } = running;
  const named = new Map(wish.wanted?.map((each) => [each.oid, each]));
  const objects = contents.objects.map(([oid, sizeBytes]) => ({
    oid,
    sizeBytes,
    etag: '',
    key: '',
    ...named.get(oid),
  }));
  const format = formatFor('tar', { modifiedAtMs: contents.startedAtMs });
  const sizes = entrySizesOf(objects, format);
  const subject = { ...contents, path: pathOf(wish) };
  const layout = new Layout({ format, objects, sizes, subject, volume: { number: 1, of: 1 } }, () =>
    Uint32Array.from(objects.keys()),
  );
  const progress = new TransferProgress(context, line, 'writing the archive: ');
  const tar = await open(archiveIn(folder), constants.O_RDWR | noLink);
  const moved = { files: [] as string[], bytes: 0 };
  const removeMoved = async () => {
    await tar.sync();
    for (const file of moved.files.splice(0)) await rm(file);
    moved.bytes = 0;
  };
  try {
    let at = 0;
    for (const segment of segmentsIn(layout, { startByte: 0, endByte: layout.sizeBytes })) {
      if (segment.kind === 'literal') await writeAt(tar, segment.bytes(0), at);
      else if (await moveObject(running, { tar, object: segment.object, startByte: at })) {
        moved.files.push(path.join(folder, segment.object.oid));
        moved.bytes += segment.sizeBytes;
        if (moved.bytes >= movedBytesMax) await removeMoved();
      }
      at += segment.sizeBytes;
      progress.show({ bytes: at, totalBytes: layout.sizeBytes });
    }
    await tar.truncate(layout.sizeBytes);
    await removeMoved();
    return layout.sizeBytes;
  } finally {
    await tar.close();
  }
}

/** @returns false if an earlier call has moved it. @throws {CliError} if its bytes are others. */
async function moveObject(
  { folder, stop }: Running,
  { tar, object, startByte }: { tar: FileHandle; object: StoredObject; startByte: number },
): Promise<boolean> {
  const { oid, sizeBytes } = object;
  const file = await open(path.join(folder, oid)).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
  });
  try {
    const sha256 = file
      ? await sha256Of(file, { sizeBytes, stop }, (piece, at) => writeAt(tar, piece, startByte + at))
      : await sha256Of(tar, { startByte, sizeBytes, stop });
    if (sha256 !== oid) throw harmed(folder);
    return file !== undefined;
  } finally {
    await file?.close();
  }
}
