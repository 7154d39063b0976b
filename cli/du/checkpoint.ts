import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../../lambda/core/rules/hash.ts';
import { parseJson } from '../../lambda/core/rules/text.ts';
import type { ScanRest } from '../../lambda/core/scan/rules/scan-plan.ts';
import { pause } from '../../lambda/core/store/bucket-client.ts';
import { errorCode, readIfThere, writeDurably } from '../../local/system/durable-file.ts';
import { CliError } from '../errors.ts';
import { lockFile } from '../file-lock.ts';
import { groupings } from './groups.ts';

/** The file of `du --resume`: what a scan has counted, and what is left of it. */

const format = 'lfs-quota du';
/** Raised when an older version could not read, or would misread, what is written: 2 has groups, 3 its pages' order, 4 versions. */
const version = 4;

const count = z.number().int().nonnegative();
const bytes = z.string().regex(/^\d+$/);
/** A folder or a group. */
const sum = z.tuple([z.string(), count, bytes]).readonly();

const checkpointSchema = z.strictObject({
  /** What is counted. A scan that differs in any of these cannot be continued. */
  scan: z.strictObject({
    bucket: z.string(),
    prefix: z.string(),
    /** null: AWS. */
    endpoint: z.string().nullable(),
    order: z.enum(['parallel', 'fixed-sixteen', 'sequential']),
    folders: z.strictObject({ depth: count, top: count }).nullable(),
    by: z.array(z.enum(groupings)).readonly().exactOptional(),
    /** With all versions, of which the only groups are the kinds. */
    all: z.literal(true).exactOptional(),
  }),
  beganMs: count,
  savedMs: count,
  /** Processes that have counted, the one that wrote this included. */
  runs: count,
  /** The time that they took, without that between them. */
  activeMs: z.number().nonnegative(),
  objects: count,
  bytes,
  /** LISTs that were sent, by processes that were killed only up to what they saved. */
  requests: count,
  /** Of those, answers with a status of 500 and above, which AWS does not charge. */
  failed: count,
  throttled: count,
  /** null: all is counted. */
  rest: z
    .strictObject({
      ranges: z.array(
        z.strictObject({
          after: z.string().nullable(),
          last: z.string().nullable(),
          folder: z.string().exactOptional(),
          isUneven: z.literal(true).exactOptional(),
          continuationToken: z.string().exactOptional(),
        }),
      ),
      objectsExpected: z.number().nonnegative().nullable(),
      /** Omitted: the scan lists in order, unless `scan.order` says otherwise. */
      listed: z.array(z.string()).readonly().exactOptional(),
      /** As the scan wrote them. */
      seams: z.custom<NonNullable<ScanRest['seams']>>(Array.isArray).exactOptional(),
    })
    .nullable(),
  folders: z
    .strictObject({
      completeCount: count,
      largest: z.array(sum).readonly(),
      open: z.array(sum).readonly(),
    })
    .nullable(),
  /** In the order of `scan.by`. */
  groups: z.array(z.array(sum).readonly()).readonly().exactOptional(),
});

export type Checkpoint = z.output<typeof checkpointSchema>;
export type ScanIdentity = Checkpoint['scan'];

/** The file in which a scan is saved, while this process holds it. Each save replaces it atomically. */
export class CheckpointFile {
  readonly #path: string;
  readonly #unlock: () => Promise<void>;
  readonly #end = new AbortController();
  /** What this process wrote, or found. If it holds anything else, another one writes, too. */
  #text: string | undefined;
  #checkpoint: () => Checkpoint | undefined = () => undefined;
  #saving: Promise<void> | undefined;
  /** What it held when it was opened; undefined if there was no such file. */
  readonly found: Checkpoint | undefined;

  private constructor(
    file: { path: string; unlock: () => Promise<void> },
    held: { text: string | undefined; found: Checkpoint | undefined },
  ) {
    this.#path = file.path;
    this.#unlock = file.unlock;
    this.#text = held.text;
    this.found = held.found;
  }

  /**
   * @throws {CliError} when the file cannot be used: another process has it, it belongs to another scan, is no such
   *   file, or cannot be written.
   */
  static async open(name: string, scan: ScanIdentity): Promise<CheckpointFile> {
    try {
      if ((await stat(name).catch(ignoreMissing))?.isFile() === false)
        throw new CliError(`${name} isn't a file.`, { hint: '--resume needs a file name.' });
      // A link to a file stays one.
      const file = await realpath(name).catch(() => path.resolve(name));
      const unlock = await lockFile(file, 'scans with it');
      try {
        const text = await readIfThere(file);
        const found = text === undefined ? undefined : readCheckpoint(text, { name, scan });
        return new CheckpointFile({ path: file, unlock }, { text, found });
      } catch (error) {
        await unlock();
        throw error;
      }
    } catch (error) {
      throw explain(error, name);
    }
  }

  /**
   * Saves at once, and again every so often. That needs no request: what a scan would leave is known at any time.
   *
   * @param options.onFailure a scan goes on if it cannot be saved: that may succeed the next time.
   */
  begin(
    checkpoint: () => Checkpoint | undefined,
    { everyMs, onFailure }: { everyMs: number; onFailure: (error: unknown) => void },
  ): void {
    const { signal } = this.#end;
    const save = async () => {
      while (!signal.aborted) {
        await this.#save().catch(onFailure);
        await pause(everyMs, signal);
      }
    };
    this.#checkpoint = checkpoint;
    this.#saving = save();
  }

  /**
   * Saves for the last time. If there is nothing to save, what was saved before stands.
   *
   * @returns whether there is something to go on with.
   * @throws {CliError} when another process has written the file meanwhile, or it cannot be written.
   */
  async end(): Promise<boolean> {
    this.#end.abort();
    await this.#saving;
    await this.#save();
    return this.#text !== undefined;
  }

  async close(): Promise<void> {
    this.#end.abort();
    await this.#saving;
    await this.#unlock();
  }

  async #save(): Promise<void> {
    const checkpoint = this.#checkpoint();
    try {
      const there = await readIfThere(this.#path);
      if (there !== undefined && there !== this.#text) throw new ReplacedFileError(this.#path);
      if (checkpoint === undefined) return;
      const text = writeCheckpoint(checkpoint);
      await writeDurably(this.#path, text);
      this.#text = text;
    } catch (error) {
      throw explain(error, this.#path);
    }
  }
}

/** Somebody else wrote the file. Nothing is lost, but going on would waste requests, and end in the same conflict. */
export class ReplacedFileError extends CliError {
  constructor(file: string) {
    super(`Another process wrote ${file} during this scan.`, {
      hint: 'Stop one of them, and continue with the other. The saved file is right.',
    });
  }
}

function writeCheckpoint(checkpoint: Checkpoint): string {
  const body = JSON.stringify(checkpoint);
  const { listed, seams } = checkpoint.rest ?? {};
  const least = listed || seams ? 3 : checkpoint.groups === undefined ? 1 : 2;
  return `{"format":"${format}","version":${checkpoint.scan.all ? version : least},"sha256":"${sha256Hex(body)}","checkpoint":${body}}\n`;
}

/** @throws {CliError} when it is no checkpoint of this scan, or not as it was written. */
function readCheckpoint(text: string, { name, scan }: { name: string; scan: ScanIdentity }): Checkpoint {
  if (!text.startsWith(`{"format":"${format}",`)) {
    throw new CliError(`${name} isn't a file of du --resume.`, {
      hint: "It wasn't changed. Use a new file name.",
    });
  }
  const [, written = '', digest, body = ''] =
    /^\{"format":"[^"]*","version":(\d+)(?:,"sha256":"(\w+)","checkpoint":(.*)\}\n$)?/s.exec(text) ?? [];
  if (Number(written) > version) {
    throw new CliError(`${name} was written by a newer version of lfs-quota (format ${written}).`, {
      hint: 'Use that version, or start again with another file.',
    });
  }
  const { data } = checkpointSchema.safeParse(parseJson(body));
  if (data === undefined || sha256Hex(body) !== digest) {
    throw new CliError(`${name} is damaged.`, { hint: 'Restore it, or delete it and start again.' });
  }
  const wanted = wordsOf(scan);
  for (const [index, words] of wordsOf(data.scan).entries())
    if (words !== wanted[index]) {
      throw new CliError(`${name} belongs to another scan: one ${words}, not ${wanted[index]}.`, {
        hint: "Run it with that scan's options, or use another file.",
      });
    }
  return data;
}

/** What a scan is, for a person. If two have the same words, one can continue the other. */
function wordsOf({ bucket, prefix, endpoint, order, folders, by, all }: ScanIdentity): string[] {
  return [
    `of s3://${bucket}/${prefix === '' ? '' : `${prefix}*`}`,
    `at ${endpoint ?? 'AWS'}`,
    order === 'parallel' ? 'without --strategy sequential or fixed-sixteen' : `with --strategy ${order}`,
    folders === null
      ? 'without --by-prefix'
      : `with --by-prefix --depth ${folders.depth} --top ${folders.top}`,
    by === undefined ? 'without --by' : `with --by ${by.join(',')}`,
    all ? 'with --all' : 'without --all',
  ];
}

function ignoreMissing(error: unknown): undefined {
  if (errorCode(error) !== 'ENOENT') throw error;
}

function explain(error: unknown, name: string): unknown {
  const code = errorCode(error);
  if (error instanceof CliError || code === undefined) return error;
  const why: Readonly<Record<string, string>> = {
    ENOENT: "Its folder doesn't exist.",
    ENOTDIR: "Its folder doesn't exist.",
    EACCES: 'Check that you can read and write it and its folder.',
    EROFS: "You can't write to its folder.",
    ENOSPC: 'The disk is full.',
  };
  return new CliError(`${name} can't be used to save the scan (${code}).`, {
    hint: why[code] ?? 'Pass another file to --resume.',
    cause: error,
  });
}
