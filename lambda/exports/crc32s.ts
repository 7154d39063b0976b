import type { Deps } from '../deps.ts';
import { readPieces } from '../store/read-pieces.ts';
import type { MultipartUpload } from '../store/rules/archive-store.ts';
import { decodeJson, encodeJson } from './lease.ts';
import { crc32After } from './rules/archive-formats.ts';
import { crc32sKey, type ExportPath, scratchKey, type UnitName } from './rules/job.ts';
import { type HeadPiece, isHashedByCopy, type LeafPart } from './rules/orders.ts';

const pieceBytes = 4 * 1024 ** 2;
/** Parts that an upload can have. */
const partsMax = 10_000;

/** As the store has them: where each lies in the row of all directories, and what it is. */
export type StoredCrc32s = readonly (readonly [at: number, crc32: number])[];

/** The CRC-32s of objects whose heads one worker makes for one unit of a zip. */
export class Crc32s {
  readonly #deps: Pick<Deps, 'archives' | 'exportSettings'>;
  readonly #place: { readonly path: ExportPath; readonly round: number; readonly unit: UnitName };
  readonly #found = new Map<number, number>();
  #scratch: Promise<MultipartUpload> | undefined;
  #copies = 0;

  constructor(
    deps: Pick<Deps, 'archives' | 'exportSettings'>,
    place: { path: ExportPath; round: number; unit: UnitName },
  ) {
    this.#deps = deps;
    this.#place = place;
  }

  /** What this worker, or one before it, has found. */
  get found(): StoredCrc32s {
    return [...this.#found];
  }

  /** Whether all of a part are known, so that the part need not be made for them. */
  has(part: LeafPart): boolean {
    const isKnown = (at: number | undefined) => at === undefined || this.#found.has(at);
    return (
      part.kind === 'copy' || part.pieces.every((piece) => piece.kind !== 'head' || isKnown(piece.crc32At))
    );
  }

  /** Reads what workers before this one have found. */
  async recall(): Promise<void> {
    const { path, ...place } = this.#place;
    const keys = [true, false].map((isWhole) => crc32sKey(path, { ...place, isWhole }));
    for (const bytes of await Promise.all(keys.map((key) => this.#deps.archives.get(key))))
      for (const [at, crc32] of bytes ? decodeJson<StoredCrc32s>(bytes) : []) this.#found.set(at, crc32);
  }

  /**
   * Lets the store tell the CRC-32 of an object by a copy into an upload that is aborted afterwards, so that no byte passes
   * this process.
   *
   * @returns undefined if its bytes are needed instead.
   * @throws {SourceGoneError} @throws {UploadGoneError} @throws {StoreUnavailableError}
   */
  async told({ source, member }: HeadPiece): Promise<number | undefined> {
    const { archives, exportSettings } = this.#deps;
    if (!source || !isHashedByCopy(member, exportSettings)) return undefined;
    // One that a killed worker left behind is aborted with all others: another may be at the same unit now.
    this.#scratch ??= archives.createUpload(scratchKey(this.#place.path, this.#place), { withCrc32: true });
    const number = (this.#copies % partsMax) + 1;
    this.#copies += 1;
    const { sizeBytes } = member;
    return (await archives.copyPart(await this.#scratch, { number, source, sizeBytes })).crc32;
  }

  /**
   * @param own as many of the object's first bytes as the part has. The others are read, piece by piece.
   * @param told what the store told.
   * @returns also what it took.
   */
  async of(
    head: HeadPiece,
    own: Uint8Array,
    told: number | undefined,
  ): Promise<{ crc32: number; requests: number; hashedBytes: number }> {
    const { source, crc32At } = head;
    const { sizeBytes } = head.member;
    let crc32 = told ?? crc32After(0, own);
    let requests = told === undefined ? 0 : 1;
    if (told === undefined && source) {
      const rest = { pieceBytes, fromByte: own.length };
      for await (const piece of readPieces(this.#deps.archives, { ...source, sizeBytes }, rest)) {
        crc32 = crc32After(crc32, piece);
        requests += 1;
      }
    }
    if (crc32At !== undefined) this.#found.set(crc32At, crc32);
    return { crc32, requests, hashedBytes: source ? sizeBytes : 0 };
  }

  /** Puts down what was found, before the unit is done. @param isWhole false: the time was over before. */
  async put(isWhole: boolean): Promise<void> {
    const { path, ...place } = this.#place;
    await this.#deps.archives.put(crc32sKey(path, { ...place, isWhole }), encodeJson(this.found));
  }

  /** Aborts what only the store's answers were wanted of. */
  async end(): Promise<void> {
    const scratch = this.#scratch;
    this.#scratch = undefined;
    if (scratch) await this.#deps.archives.abort(await scratch);
  }
}
