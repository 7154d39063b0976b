import { createHash } from 'node:crypto';
import { type FileHandle, open, readdir, rename, rm, statfs } from 'node:fs/promises';
import path from 'node:path';
import { type ArchiveFormat, formatFor } from '../../lambda/exports/rules/archive-formats.ts';
import { type ExportSubject, indexOf, manifestOf } from '../../lambda/exports/rules/layout.ts';
import { distinctObjects, memberName, type StoredObject } from '../../lambda/exports/rules/objects.ts';
import { objectKey } from '../../lambda/rules/names.ts';
import { formatBytes } from '../../lambda/rules/sizes.ts';
import { errorCode, syncFolder } from '../../local/system/durable-file.ts';
import type { ApiClient } from '../api-client.ts';
import type { CliContext } from '../context.ts';
import { CliError } from '../errors.ts';
import { lockFile } from '../file-lock.ts';
import { eachPage, pageSizeMax } from '../list-pages.ts';
import { WaitLine } from '../progress.ts';
import { formatCount, formatObjects } from '../render.ts';
import { checkMayDownload, DiskError, downloadObjects } from './lfs-download.ts';
import { type Interrupt, listenForInterrupt, TransferError, TransferProgress } from './transfer.ts';

/**
 * An archive on this machine's disk, made from the objects themselves. Objects are appended once they are complete, and the
 * oid of each is the SHA-256 of its bytes: so the unfinished archive itself says what an earlier call has fetched.
 */

/** As many as the memory of one process takes with ease, and as an export on the server may have. */
const objectsMax = 2_000_000;
/** Broken objects that an error names. */
const namedMax = 3;
/** Bytes that are read or copied at a time. */
const pieceBytes = 1024 ** 2;

/** What is to be exported. */
export interface LocalWish {
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

interface Running {
  readonly client: ApiClient;
  readonly context: CliContext;
  readonly line: WaitLine;
  readonly stop: AbortSignal;
  readonly sleep: Interrupt['sleep'];
  readonly nowMs: () => number;
}

/**
 * Makes an archive. After a stop or a kill, the same call goes on with what is complete: another wish has another
 * unfinished file beside the archive.
 *
 * @param input.goOn how to go on, for a person.
 * @throws {CliError}
 */
export async function exportLocally(
  { client, context }: { client: ApiClient; context: CliContext },
  input: { wish: LocalWish; file: string; goOn: string },
): Promise<LocalExport> {
  const { wish, file, goOn } = input;
  const asked = createHash('sha256').update(JSON.stringify([client.baseUrl, wish]));
  const partial = `${file}.${asked.digest('hex').slice(0, 8)}.partial`;
  const line = new WaitLine(context, { isQuiet: false });
  const { signal: stop, sleep, release } = listenForInterrupt(context);
  const { nowMs } = context;
  try {
    const unlock = await lockFile(partial, 'exports to it');
    try {
      return await run({ client, context, line, stop, sleep, nowMs }, { wish, file, partial });
    } finally {
      await removeArriving(partial);
      await unlock();
    }
  } catch (error) {
    line.clear();
    if (stop.aborted) throw new CliError('Stopped.', { hint: goOn, failure: 'interrupted', cause: error });
    if (error instanceof CliError) throw error;
    if (error instanceof TransferError)
      throw new CliError(`The export is not complete. ${error.message.replace(/\.?$/, '.')}`, {
        hint: goOn,
        cause: error,
      });
    const code = errorCode(error instanceof DiskError ? error.cause : error);
    // Node's own errors have an underscore in their code.
    if (code === undefined || !/^E[A-Z]+$/.test(code)) throw error;
    const hint = `Free some space there, or name a file where you may write. ${goOn}`;
    throw new CliError(`${file} cannot be written (${code}).`, { hint, cause: error });
  } finally {
    release();
  }
}

/** Removes what was arriving when a call ended: each lies in a file beside the archive. */
async function removeArriving(partial: string): Promise<void> {
  const [folder, start] = [path.dirname(partial), `${path.basename(partial)}.arriving-`];
  const names = await readdir(folder).catch(() => []);
  for (const name of names) if (name.startsWith(start)) await rm(path.join(folder, name), { force: true });
}

async function run(
  running: Running,
  { wish, file, partial }: { wish: LocalWish; file: string; partial: string },
): Promise<LocalExport> {
  const { context, line } = running;
  await checkMayDownload(running, wish);
  const startedAtMs = context.nowMs();
  const listed = await listObjects(running, wish);
  const tar = await GrowingTar.open(partial, {
    format: formatFor('tar', { modifiedAtMs: startedAtMs }),
    known: [...listed.objects, ...(wish.wanted ?? [])],
    stop: running.stop,
    onBytes: (bytes) => line.inPlace && line.show(`looking at what is there: ${formatBytes(bytes)}`),
  });
  try {
    const count = tar.objects.size;
    if (count > 0)
      context.err(`Going on: ${formatCount(count)} of ${formatObjects(listed.objects.length)} are there.\n`);
    const gone = await fetchMissing(running, { tar, partial, tenant: wish.tenant, objects: listed.objects });
    line.clear();
    const missing = [...listed.missing, ...gone];
    const of = wish.repo === null ? wish.tenant : `${wish.tenant}/${wish.repo}`;
    const sizeBytes = await tar.finish({ path: of, startedAtMs, missing });
    await rename(partial, file);
    await syncFolder(path.dirname(file));
    return { objectCount: tar.objects.size, sizeBytes, missing };
  } finally {
    await tar.close();
  }
}

/** Lists what an export is to have, and what was asked for and is not stored. @throws {CliError} */
async function listObjects(
  { client, context, line, stop }: Running,
  { tenant, repo, wanted }: LocalWish,
): Promise<{ objects: readonly StoredObject[]; missing: ExportSubject['missing'] }> {
  const names = wanted && new Map(wanted.map(({ oid, name }) => [oid, name]));
  const listed: StoredObject[] = [];
  const pages = eachPage(client, {
    route: 'listObjects',
    params: { tenant },
    query: { repo: repo ?? undefined },
    items: 'objects',
    options: { pageSize: pageSizeMax },
  });
  for await (const { body } of pages) {
    stop.throwIfAborted();
    for (const { oid, sizeBytes, repo: of } of body.objects) {
      if (names && !names.has(oid)) continue;
      const name = names?.get(oid);
      const key = objectKey({ tenant, repo: of, oid });
      listed.push({ oid, sizeBytes, etag: '', key, ...(name !== undefined && { name }) });
    }
    if (listed.length > objectsMax)
      throw new CliError(`There are more than ${formatCount(objectsMax)} objects.`, {
        hint: 'Export the repos one by one, with --repo.',
      });
    if (line.inPlace) line.show(`listing: ${formatCount(listed.length)} objects`);
  }
  const { objects, conflicts } = distinctObjects(listed);
  line.clear();
  if (objects.length === 0)
    throw new CliError(
      `${repo === null ? tenant : `${tenant}/${repo}`} stores ${wanted ? 'none of these objects' : 'nothing'}.`,
      { hint: `See what there is with \`lfs-quota object list ${tenant}\`.` },
    );
  if (conflicts.length > 0)
    context.err(
      `${formatObjects(conflicts.length)} left out: another repo has the oid with another size, so one of them is broken.\n`,
    );
  const found = new Set(objects.map(({ oid }) => oid));
  const absent = (wanted ?? []).filter(({ oid }) => !found.has(oid));
  return { objects, missing: absent.map(({ oid }) => ({ oid, sizeBytes: null })) };
}

/** Downloads what the archive lacks. @returns what is gone. @throws {CliError} if others are broken. */
async function fetchMissing(
  running: Running,
  input: { tar: GrowingTar; partial: string; tenant: string; objects: readonly StoredObject[] },
): Promise<ExportSubject['missing']> {
  const { context, line } = running;
  const { tar, partial, tenant, objects } = input;
  const pending = objects.filter(({ oid }) => !tar.objects.has(oid));
  const pendingBytes = bytesOf(pending);
  await checkRoom(partial, pendingBytes);
  const totalBytes = bytesOf(objects);
  const progress = new TransferProgress(context, line);
  const gone: StoredObject[] = [];
  const broken: string[] = [];
  let bytes = totalBytes - pendingBytes;
  const more = () => `${formatCount(tar.objects.size)} of ${formatCount(objects.length)} objects`;
  await downloadObjects(running, {
    tenant,
    objects: pending,
    fileOf: (worker) => `${partial}.arriving-${worker}`,
    onBytes: (arrived) => {
      bytes += arrived;
      progress.show({ bytes, totalBytes }, more);
    },
    onFetched: async (object, fetched) => {
      if (fetched.kind === 'complete') await tar.append(object, fetched.file);
      else if (fetched.kind === 'gone') gone.push(object);
      else broken.push(`${object.oid}: ${fetched.message}`);
    },
  });
  if (broken.length > 0) {
    const others = broken.length > namedMax ? `\n… and ${formatCount(broken.length - namedMax)} more` : '';
    throw new CliError(
      `${formatObjects(broken.length)} cannot be exported. The others are there.\n` +
        `${broken.slice(0, namedMax).join('\n')}${others}`,
      {
        hint: 'Push the right bytes once more after `lfs-quota object delete`, or export without them: name the others in --objects FILE.',
      },
    );
  }
  return gone.map(({ oid, sizeBytes }) => ({ oid, sizeBytes }));
}

const bytesOf = (objects: readonly StoredObject[]) =>
  objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

/** @throws {CliError} when a disk has not the room for so many bytes more. */
async function checkRoom(file: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(path.dirname(file));
  const freeBytes = bavail * bsize;
  if (freeBytes >= bytes) return;
  throw new CliError(
    `${file} needs ${formatBytes(bytes)} more, and its disk has ${formatBytes(freeBytes)} free.`,
    { hint: 'Free some space, or name a file on another disk.' },
  );
}

interface TarInput {
  readonly format: ArchiveFormat;
  /** What the names in it mean. */
  readonly known: readonly { readonly oid: string; readonly name?: string }[];
  readonly stop: AbortSignal;
  /** Called with how many bytes of an earlier call were looked at. */
  readonly onBytes: (bytes: number) => void;
}

const volume = { number: 1, of: 1 };

/** A tar to which whole objects are appended. Manifest and index come last, as only then it is known what there is. */
class GrowingTar {
  /** What is there, and where its bytes begin, by oid. */
  readonly objects = new Map<string, StoredObject & { readonly startByte: number }>();
  readonly #file: FileHandle;
  readonly #format: ArchiveFormat;
  #endByte = 0;
  #appending: Promise<void> = Promise.resolve();

  private constructor(file: FileHandle, format: ArchiveFormat) {
    this.#file = file;
    this.#format = format;
  }

  /** Opens a tar, and cuts it off where the first thing lies that is no whole object. */
  static async open(name: string, input: TarInput): Promise<GrowingTar> {
    const tar = new GrowingTar(await open(name, 'a+'), input.format);
    try {
      await tar.#readObjects(input);
      await tar.#file.truncate(tar.#endByte);
      return tar;
    } catch (error) {
      await tar.close();
      throw error;
    }
  }

  /** Appends an object whose bytes a file has. Of several calls one is at it at a time. */
  append(object: StoredObject, file: FileHandle): Promise<void> {
    const appended = this.#appending.then(async () => {
      const { sizeBytes } = object;
      const member = { name: memberName(object), sizeBytes };
      await this.#write(this.#format.head({ ...member, crc32: 0 }));
      const startByte = this.#endByte;
      for (let at = 0; at < sizeBytes; at += pieceBytes)
        await this.#write(await readAt(file, at, Math.min(pieceBytes, sizeBytes - at)));
      await this.#write(new Uint8Array(this.#format.padBytes(sizeBytes)));
      this.objects.set(object.oid, { ...object, startByte });
    });
    this.#appending = appended.catch(() => undefined);
    return appended;
  }

  /** Adds manifest, index and end. @returns how long it is. */
  async finish(subject: ExportSubject): Promise<number> {
    const objects = [...this.objects.values()].sort((a, b) => (a.oid < b.oid ? -1 : 1));
    const dataStartOf = (index: number) => objects[index]?.startByte ?? Number.NaN;
    for (const content of [
      manifestOf({ subject, volume, objects }),
      indexOf({ volume, objects, dataStartOf }),
    ]) {
      await this.#write(this.#format.head({ ...content, crc32: 0 }));
      for (let startByte = 0; startByte < content.sizeBytes; startByte += pieceBytes)
        await this.#write(
          content.bytes({ startByte, endByte: Math.min(startByte + pieceBytes, content.sizeBytes) }),
        );
      await this.#write(new Uint8Array(this.#format.padBytes(content.sizeBytes)));
    }
    await this.#write(
      this.#format.end({
        members: objects.length + 2,
        directoryStartByte: this.#endByte,
        directoryEndByte: this.#endByte,
      }),
    );
    await this.#file.sync();
    return this.#endByte;
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    await this.#file.appendFile(bytes);
    this.#endByte += bytes.length;
  }

  async #readObjects({ known, stop, onBytes }: TarInput): Promise<void> {
    const oids = new Map(known.map((object) => [memberName(object), object.oid]));
    const oidOf = (name: string) =>
      oids.get(name) ?? /^lfs\/objects\/..\/..\/([0-9a-f]{64})$/.exec(name)?.[1];
    const { size } = await this.#file.stat();
    for (;;) {
      const head = await readTarHead(this.#file, this.#endByte);
      const oid = head && oidOf(head.name);
      if (!head || oid === undefined) return;
      const { name, sizeBytes, startByte } = head;
      const endByte = startByte + sizeBytes + this.#format.padBytes(sizeBytes);
      if (endByte > size) return;
      const hash = createHash('sha256');
      for (let at = 0; at < sizeBytes; at += pieceBytes) {
        stop.throwIfAborted();
        hash.update(await readAt(this.#file, startByte + at, Math.min(pieceBytes, sizeBytes - at)));
        onBytes(startByte + at);
      }
      if (hash.digest('hex') !== oid) return;
      this.objects.set(oid, { oid, sizeBytes, etag: '', key: '', name, startByte });
      this.#endByte = endByte;
    }
  }
}

const blockBytes = 512;

/** What the head of a file in a tar says, pax records included; undefined if there is none. */
async function readTarHead(
  file: FileHandle,
  at: number,
): Promise<{ name: string; sizeBytes: number; startByte: number } | undefined> {
  const block = await readAt(file, at, blockBytes);
  if (block.length < blockBytes || block[0] === 0) return undefined;
  const field = (from: number, bytes: number) =>
    block.toString('latin1', from, from + bytes).replace(/\0.*$/s, '');
  const [name, prefix] = [field(0, 100), field(345, 155)];
  const sizeBytes = Number.parseInt(field(124, 12), 8);
  if (!Number.isSafeInteger(sizeBytes)) return undefined;
  if (field(156, 1) !== 'x')
    return { name: prefix === '' ? name : `${prefix}/${name}`, sizeBytes, startByte: at + blockBytes };
  if (sizeBytes > pieceBytes) return undefined;
  const records = (await readAt(file, at + blockBytes, sizeBytes)).toString('utf8').split('\n');
  const behind = at + blockBytes + Math.ceil(sizeBytes / blockBytes) * blockBytes;
  const head = await readTarHead(file, behind);
  const said = (key: string) => records.find((each) => each.includes(` ${key}=`))?.replace(/^\d+ \w+=/, '');
  return (
    head && { ...head, name: said('path') ?? head.name, sizeBytes: Number(said('size') ?? head.sizeBytes) }
  );
}

/** Bytes of a file; fewer at its end. */
async function readAt(file: FileHandle, at: number, sizeBytes: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(sizeBytes);
  let done = 0;
  while (done < sizeBytes) {
    const { bytesRead } = await file.read(bytes, done, sizeBytes - done, at + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return bytes.subarray(0, done);
}
