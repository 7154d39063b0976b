import { MalformedAnswerError } from '../../store/exchange.ts';

/** What an answer must have. @throws {MalformedAnswerError} if it has not. */
export function required<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new MalformedAnswerError(`The answer has no ${name}.`);
  return value;
}

/**
 * Reads a body into bytes that it must fill.
 *
 * @throws {MalformedAnswerError} if it has more or fewer. A store that does not know ranges sends more.
 */
export async function readBodyInto(body: AsyncIterable<Uint8Array>, into: Uint8Array): Promise<void> {
  let at = 0;
  for await (const piece of body) {
    // To leave the loop closes the connection.
    if (at + piece.length > into.length) throw wrongLength(into);
    into.set(piece, at);
    at += piece.length;
  }
  if (at < into.length) throw wrongLength(into);
}

const wrongLength = ({ length }: Uint8Array) =>
  new MalformedAnswerError(`The answer has not the ${length} bytes that were asked for.`);

/** The CRC-32 in base64, as a number. @throws {MalformedAnswerError} if it is none. */
export function crc32Of(base64: string): number {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length !== 4) throw new MalformedAnswerError('The answer has a CRC32 that is none.');
  return bytes.readUInt32BE();
}

/** Bytes from `startByte` up to, and without, `endByte`, as headers name them. */
export function rangeText({ startByte, endByte }: { startByte: number; endByte: number }): string {
  return `bytes=${startByte}-${endByte - 1}`;
}
