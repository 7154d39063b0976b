import type { Deps } from '../../deps.ts';
import type { ArchiveFormat } from '../../domain/export/archive-format.ts';
import type { ExportPath } from '../../domain/export/export-job.ts';
import { shardKey, shardsPrefix } from '../../domain/export/export-keys.ts';
import { formatFor } from '../../domain/export/formats.ts';
import type { CopyOrder, OrderedPart, OrderedVolume } from '../../domain/export/work-order.ts';
import {
  type MultipartUpload,
  SourceGoneError,
  type UploadedPart,
  UploadGoneError,
} from '../../ports/archive-store.ts';
import { type PartWork, runParts, type WantedPart } from './run-parts.ts';

type ShardPart = Extract<OrderedPart, { kind: 'shard' }>;

interface CopyPartsInput {
  readonly path: ExportPath;
  readonly round: number;
  readonly order: CopyOrder;
  /** Whether no parts are looked for, because nothing was made yet. */
  readonly isFirst: boolean;
  readonly onPart: (work: PartWork) => Promise<void>;
  readonly isOver: () => boolean;
}

/**
 * Makes the parts of an order that are not there yet. What is there, the store says: parts of an upload, and shards that
 * are complete.
 *
 * @returns whether all are there. False if the time was over before.
 * @throws {SourceGoneError} @throws {UploadGoneError} @throws {StoreUnavailableError}
 */
export async function copyParts(
  deps: Pick<Deps, 'archives'>,
  { path, round, order, isFirst, onPart, isOver }: CopyPartsInput,
): Promise<boolean> {
  const format = formatFor(order.format, order);
  const shards = new Shards(deps, { path, round });
  for (const [index, volume] of order.volumes.entries()) {
    const own = order.parts.filter((part) => part.volume === index);
    const existing = isFirst ? new Map() : await existingParts(deps, volume, own);
    const context = { volume, existing, format, onPart, isOver };
    const leaves = own.filter((part) => part.kind !== 'shard');
    const done = await runParts(deps, {
      ...context,
      upload: volume,
      made: volume.made,
      parts: leaves,
    });
    if (done.size < leaves.length) return false;
    for (const part of own) {
      if (part.kind !== 'shard' || existing.get(part.number)?.sizeBytes === part.sizeBytes) continue;
      if (!(await shards.make(part, context))) return false;
    }
  }
  return true;
}

/** The parts that an archive has already, of those that are wanted. */
async function existingParts(
  { archives }: Pick<Deps, 'archives'>,
  volume: MultipartUpload,
  wanted: readonly OrderedPart[],
): Promise<Map<number, UploadedPart>> {
  const found = new Map<number, UploadedPart>();
  if (wanted.length === 0) return found;
  const numbers = wanted.map(({ number }) => number);
  const last = Math.max(...numbers);
  for await (const page of archives.parts(volume, { after: Math.min(...numbers) - 1 })) {
    for (const part of page) found.set(part.number, part);
    if ((page.at(-1)?.number ?? 0) >= last) break;
  }
  return found;
}

/** Each attempt at a shard but the first begins because another worker has made it. */
const shardAttemptsMax = 3;

interface ShardContext {
  readonly volume: OrderedVolume;
  readonly format: ArchiveFormat;
  readonly onPart: (work: PartWork) => Promise<void>;
  readonly isOver: () => boolean;
}

/** The shards of a unit: objects of their own, each of which is then copied as one part. */
class Shards {
  readonly #archives: Deps['archives'];
  readonly #place: { readonly path: ExportPath; readonly round: number };
  #uploads: Promise<Map<string, MultipartUpload>> | undefined;

  constructor({ archives }: Pick<Deps, 'archives'>, place: { path: ExportPath; round: number }) {
    this.#archives = archives;
    this.#place = place;
  }

  /** @returns false if the time was over before. */
  async make(part: ShardPart, context: ShardContext): Promise<boolean> {
    const key = shardKey(this.#place.path, { ...this.#place, volume: part.volume, part: part.number });
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#makeOnce(key, part, context);
      } catch (error) {
        if (!(error instanceof SourceGoneError || error instanceof UploadGoneError)) throw error;
        // Another worker may have completed or replaced it meanwhile, or this did, and the answer was lost.
        const isThere = (await this.#archives.head(key))?.sizeBytes === part.sizeBytes;
        if (!isThere || attempt === shardAttemptsMax) throw error;
      }
    }
  }

  async #makeOnce(key: string, part: ShardPart, context: ShardContext): Promise<boolean> {
    const { number, sizeBytes } = part;
    const etag = await this.#etagOf(key, part, context);
    if (etag === undefined) return false;
    await this.#archives.copyPart(context.volume, { number, source: { key, etag }, sizeBytes });
    // Its bytes were counted when they came into the shard.
    await context.onPart({ uploadedBytes: 0, copiedBytes: 0, requests: 1 });
    return true;
  }

  async #etagOf(key: string, part: ShardPart, context: ShardContext): Promise<string | undefined> {
    const found = await this.#archives.head(key);
    if (found?.sizeBytes === part.sizeBytes) return found.etag;
    this.#uploads ??= this.#unfinished();
    const unfinished = (await this.#uploads).get(key);
    const upload = unfinished ?? (await this.#archives.createUpload(key));
    const existing = new Map<number, UploadedPart>();
    if (unfinished)
      for await (const page of this.#archives.parts(unfinished))
        for (const each of page) existing.set(each.number, each);
    const parts = part.parts.map((each, index): WantedPart => ({ ...each, number: index + 1 }));
    const { format, onPart, isOver, volume } = context;
    const done = await runParts(
      { archives: this.#archives },
      { upload, parts, existing, format, made: volume.made, onPart, isOver },
    );
    if (done.size < parts.length) return undefined;
    const uploaded = [...done.values()].sort((a, b) => a.number - b.number);
    return (await this.#archives.complete(upload, uploaded)).etag;
  }

  /** The uploads that an earlier worker has begun: one for each shard, whichever it is. */
  async #unfinished(): Promise<Map<string, MultipartUpload>> {
    const { path, round } = this.#place;
    const uploads = new Map<string, MultipartUpload>();
    for await (const page of this.#archives.uploads(shardsPrefix(path, round)))
      for (const upload of page) uploads.set(upload.key, upload);
    return uploads;
  }
}
