import { S3Error } from './s3-error.ts';

/** Longest line of the framing: a chunk's size, or a trailer. */
const lineBytesMax = 256;
const trailersMax = 8;

/**
 * Decodes the framing that SDKs use when they know a body's checksum only at its end:
 * `SIZE-IN-HEX CRLF bytes CRLF … 0 CRLF trailer:value CRLF … CRLF`.
 *
 * @param onTrailer called for each trailer, with its name in lower case, before the generator ends.
 * @throws {S3Error} IncompleteBody, InvalidRequest, MalformedTrailerError
 */
export async function* decodeAwsChunked(
  source: AsyncIterable<Buffer>,
  onTrailer: (name: string, value: string) => void,
): AsyncGenerator<Buffer> {
  const reader = new ChunkReader(source);
  try {
    while (true) {
      const line = await reader.line();
      if (!/^[0-9a-fA-F]{1,13}$/.test(line))
        throw new S3Error('InvalidRequest', 'The size of a chunk is not valid.');
      const sizeBytes = Number.parseInt(line, 16);
      if (sizeBytes === 0) break;
      yield* reader.take(sizeBytes);
      if ((await reader.line()) !== '')
        throw new S3Error('InvalidRequest', 'A chunk is longer than its size.');
    }
    await readTrailers(reader, onTrailer);
    await reader.end();
  } finally {
    await reader.close();
  }
}

async function readTrailers(
  reader: ChunkReader,
  onTrailer: (name: string, value: string) => void,
): Promise<void> {
  for (let count = 0; ; count += 1) {
    const line = await reader.line();
    if (line === '') return;
    const colonAt = line.indexOf(':');
    if (colonAt < 1 || count === trailersMax) {
      throw new S3Error('MalformedTrailerError', 'A trailer is not NAME:VALUE, or there are too many.');
    }
    onTrailer(line.slice(0, colonAt).trim().toLowerCase(), line.slice(colonAt + 1).trim());
  }
}

/** Reads lines and counted bytes from a source of buffers. */
class ChunkReader {
  readonly #source: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** The next line, without its CRLF. */
  async line(): Promise<string> {
    while (true) {
      const endAt = this.#rest.indexOf('\r\n');
      if (endAt > lineBytesMax || (endAt < 0 && this.#rest.length > lineBytesMax + 1)) {
        throw new S3Error('InvalidRequest', 'A line of the chunked body is too long.');
      }
      if (endAt >= 0) {
        const line = this.#rest.toString('latin1', 0, endAt);
        this.#rest = this.#rest.subarray(endAt + 2);
        return line;
      }
      const more = await this.#next();
      this.#rest = this.#rest.length === 0 ? more : Buffer.concat([this.#rest, more]);
    }
  }

  async *take(sizeBytes: number): AsyncGenerator<Buffer> {
    let missing = sizeBytes;
    while (missing > 0) {
      if (this.#rest.length === 0) this.#rest = await this.#next();
      const part = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(part.length);
      missing -= part.length;
      if (part.length > 0) yield part;
    }
  }

  /** Checks that the body ends here. */
  async end(): Promise<void> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#source.next();
      if (done) return;
      this.#rest = value;
    }
    throw new S3Error('InvalidRequest', 'The chunked body continues after its end.');
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  async #next(): Promise<Buffer> {
    const { done, value } = await this.#source.next();
    if (done) throw new S3Error('IncompleteBody', 'The chunked body ends before its last chunk.');
    return value;
  }
}
