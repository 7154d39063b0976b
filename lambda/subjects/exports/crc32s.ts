import { readPieces } from '../../core/store/read-pieces.ts';
import { type MultipartUpload, NoPartCopyError } from '../../core/store/rules/archive-store.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import { decodeJson, encodeJson } from './lease.ts';
import type { ExportPorts } from './ports.ts';
import { crc32After } from './rules/archive-formats.ts';
import {
  crc32sKey,
  type ExportPath,
  type ExportProgress,
  noProgress,
  scratchKey,
  type UnitName,
} from './rules/job.ts';
import { type HeadPiece, isHashedByCopy, type LeafPart } from './rules/orders.ts';

const pieceBytes = 4 * 1024 ** 2;
/** Parts that an upload can have. */
const partsMax = 10_000;

/** As the store has them: where each lies in the row of all directories, and what it is. */
export type StoredCrc32s = readonly (readonly [at: number, crc32: number])[];
/** That of the first bytes of an object: no run of a function is long enough to read all of a large one. */
type Begun = readonly [key: string, crc32: number, readBytes: number];

/** The CRC-32s of objects whose heads one worker makes for one unit of a zip. */
export class Crc32s {
  readonly #deps: Pick<ExportPorts, 'exportSettings'> & Pick<FilePorts, 'archives'>;
  readonly #place: { readonly path: ExportPath; readonly round: number; readonly unit: UnitName };
  readonly #found = new Map<number, number>();
  readonly #begun = new Map<string, Begun>();
  #scratch: Promise<MultipartUpload> | undefined;
  #copies = 0;

  constructor(
    deps: Pick<ExportPorts, 'exportSettings'> & Pick<FilePorts, 'archives'>,
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
      for (const each of bytes ? decodeJson<readonly (StoredCrc32s[number] | Begun)[]>(bytes) : []) {
        if (each.length === 2) this.#found.set(...each);
        else this.#begun.set(each[0], each);
      }
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
    try {
      return (await archives.copyPart(await this.#scratch, { number, source, sizeBytes })).crc32;
    } catch (error) {
      if (error instanceof NoPartCopyError) return undefined;
      throw error;
    }
  }

  /**
   * @param own as many of the object's first bytes as the part has. The others are read, piece by piece.
   * @param told what the store told.
   * @param during.onPart called after each piece, and awaited.
   * @returns also what it took, without the pieces. undefined if the time was over before.
   */
  async of(
    head: HeadPiece,
    own: Uint8Array,
    told: number | undefined,
    during: { onPart: (work: ExportProgress) => Promise<void>; isOver: () => boolean },
  ): Promise<{ crc32: number; requests: number; hashedBytes: number } | undefined> {
    const { source, crc32At } = head;
    const { sizeBytes } = head.member;
    let crc32 = told ?? crc32After(0, own);
    if (told === undefined && source) {
      const { key } = source;
      let begun: Begun = this.#begun.get(key) ?? [key, crc32, own.length];
      const rest = { pieceBytes, fromByte: begun[2] };
      for await (const piece of readPieces(this.#deps.archives, { ...source, sizeBytes }, rest)) {
        begun = [key, crc32After(begun[1], piece), begun[2] + piece.length];
        this.#begun.set(key, begun);
        await during.onPart({ ...noProgress, requests: 1, hashedBytes: piece.length });
        if (during.isOver() && begun[2] < sizeBytes) return undefined;
      }
      crc32 = begun[1];
      this.#begun.delete(key);
    }
    if (crc32At !== undefined) this.#found.set(crc32At, crc32);
    const hashedBytes = told === undefined ? own.length : sizeBytes;
    return { crc32, requests: told === undefined ? 0 : 1, hashedBytes: source ? hashedBytes : 0 };
  }

  /** Puts down what was found, before the unit is done. @param isWhole false: the time was over before. */
  async put(isWhole: boolean): Promise<void> {
    const { path, ...place } = this.#place;
    const all = isWhole ? this.found : [...this.#found, ...this.#begun.values()];
    await this.#deps.archives.put(crc32sKey(path, { ...place, isWhole }), encodeJson(all));
  }

  /** Aborts what only the store's answers were wanted of. */
  async end(): Promise<void> {
    const scratch = this.#scratch;
    this.#scratch = undefined;
    if (scratch) await this.#deps.archives.abort(await scratch);
  }
}
