import { MalformedAnswerError } from './answers.ts';
import type { AnswerHead } from './exchange.ts';
import { type AnswerFrame, headOf } from './http-head.ts';

/** The head of an answer, or one of its trailers, may not be longer. Node's own client takes 16 KiB. */
const headBytesMax = 65_536;

/** The longest line that begins a chunk. Nobody sends extensions. */
const chunkLineBytesMax = 1_024;

const lineEnd = Buffer.from('\r\n');
const headEnd = Buffer.from('\r\n\r\n');

export interface HttpAnswerInput {
  readonly method: string;
  /** Called once, before the first piece of the body. */
  readonly onHead: (head: AnswerHead) => void;
  /** Called for each piece of the body. The piece is a part of what was pushed. */
  readonly onPiece: (piece: Buffer) => void;
}

/**
 * Reads one HTTP/1.1 answer from the bytes of a connection. It holds back nothing of the body.
 *
 * Specification: RFC 9112. What could be read in two ways is an error.
 */
export class HttpAnswer {
  readonly #input: HttpAnswerInput;
  #part: 'head' | 'body' | 'chunk line' | 'chunk' | 'chunk end' | 'trailers' | 'until close' | 'complete' =
    'head';
  /** Bytes of the body, or of the chunk, that are still to come. */
  #left = 0;
  /** The beginning of a head or of a line whose end has not arrived. */
  #pending: Buffer = Buffer.alloc(0);
  #frame: AnswerFrame | undefined;
  #hasSurplus = false;

  constructor(input: HttpAnswerInput) {
    this.#input = input;
  }

  get isComplete(): boolean {
    return this.#part === 'complete';
  }

  /** Whether the next request may be sent on the same connection. */
  get isReusable(): boolean {
    return this.isComplete && !this.#hasSurplus && this.#frame?.isKeptAlive === true;
  }

  /** Seconds after which the other side may close the connection, if it says so. */
  get keepAliveSeconds(): number | undefined {
    return this.#frame?.keepAliveSeconds;
  }

  /** Reads the next bytes. Nothing of them is kept. @throws {MalformedAnswerError} and what the callbacks throw. */
  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      switch (this.#part) {
        case 'head':
          at = this.#readHead(bytes, at);
          break;
        case 'body':
        case 'chunk':
          at = this.#readBody(bytes, at);
          break;
        case 'until close':
          this.#input.onPiece(at === 0 ? bytes : bytes.subarray(at));
          return;
        case 'chunk line':
          at = this.#readChunkLine(bytes, at);
          break;
        case 'chunk end':
          at = this.#readChunkEnd(bytes, at);
          break;
        case 'trailers':
          at = this.#readTrailers(bytes, at);
          break;
        case 'complete':
          this.#hasSurplus = true;
          return;
      }
    }
  }

  /** The connection was closed. @returns whether the answer ended by that, or before. */
  close(): boolean {
    if (this.#part === 'until close') this.#part = 'complete';
    return this.isComplete;
  }

  #readHead(bytes: Buffer, at: number): number {
    const { block, next } = this.#blockUpTo(headEnd, bytes, at, headBytesMax);
    if (block === undefined) return next;
    const { head, frame } = headOf(block.toString('latin1'), this.#input.method);
    // 100 and 103 come before the answer.
    if (head.status < 200) return next;
    this.#frame = frame;
    this.#left = frame.bodyBytes ?? 0;
    this.#input.onHead(head);
    if (frame.kind === 'chunked') this.#part = 'chunk line';
    else if (frame.kind === 'until close') this.#part = 'until close';
    else this.#part = this.#left === 0 ? 'complete' : 'body';
    return next;
  }

  #readBody(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    this.#input.onPiece(bytes.subarray(at, end));
    if (this.#left === 0) this.#part = this.#part === 'chunk' ? 'chunk end' : 'complete';
    return end;
  }

  #readChunkLine(bytes: Buffer, at: number): number {
    const { block, next } = this.#blockUpTo(lineEnd, bytes, at, chunkLineBytesMax);
    if (block === undefined) return next;
    const [, digits] = /^([\da-f]{1,13})[ \t]*(?:;.*)?$/i.exec(block.toString('latin1')) ?? [];
    if (digits === undefined) throw new MalformedAnswerError('The answer has a chunk without a length.');
    this.#left = Number.parseInt(digits, 16);
    this.#part = this.#left === 0 ? 'trailers' : 'chunk';
    return next;
  }

  #readChunkEnd(bytes: Buffer, at: number): number {
    const { block, next } = this.#blockUpTo(lineEnd, bytes, at, lineEnd.length);
    if (block === undefined) return next;
    if (block.length > 0) throw new MalformedAnswerError('The answer has a chunk longer than its length.');
    this.#part = 'chunk line';
    return next;
  }

  /** Trailers are not looked at. */
  #readTrailers(bytes: Buffer, at: number): number {
    const { block, next } = this.#blockUpTo(lineEnd, bytes, at, headBytesMax);
    if (block?.length === 0) this.#part = 'complete';
    return next;
  }

  /**
   * The bytes up to an end mark, which may arrive in pieces.
   *
   * @returns without a block: the mark has not arrived yet.
   */
  #blockUpTo(mark: Buffer, bytes: Buffer, at: number, bytesMax: number): { block?: Buffer; next: number } {
    const before = this.#pending;
    const all = before.length === 0 ? bytes.subarray(at) : Buffer.concat([before, bytes.subarray(at)]);
    const end = all.indexOf(mark);
    if ((end < 0 ? all.length : end) > bytesMax)
      throw new MalformedAnswerError(`The answer has a head, or a line, of more than ${bytesMax} bytes.`);
    if (end < 0) {
      this.#pending = Buffer.from(all);
      return { next: bytes.length };
    }
    this.#pending = Buffer.alloc(0);
    return { block: all.subarray(0, end), next: at + end + mark.length - before.length };
  }
}
