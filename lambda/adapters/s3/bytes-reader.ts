import { MalformedAnswerError } from './answers.ts';
import type { AnswerReader } from './exchange.ts';

/** Reads all bytes of an answer. */
export class BytesReader implements AnswerReader<Uint8Array> {
  readonly #pieces: Buffer[] = [];
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** @throws {MalformedAnswerError} if there are more than the most. */
  write(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#bytesMax)
      throw new MalformedAnswerError(`The answer has more than ${this.#bytesMax} bytes.`);
    this.#pieces.push(Buffer.from(piece));
  }

  end(): Uint8Array {
    return Buffer.concat(this.#pieces);
  }
}
