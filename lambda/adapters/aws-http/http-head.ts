import { MalformedAnswerError } from './answers.ts';
import type { AnswerHead } from './exchange.ts';

/** Where the body of an answer ends, and what becomes of the connection then. */
export interface AnswerFrame {
  readonly kind: 'length' | 'chunked' | 'until close';
  /** If the kind is `length`. */
  readonly bodyBytes?: number;
  readonly isKeptAlive: boolean;
  /** Seconds after which the other side may close an idle connection, if it says so. */
  readonly keepAliveSeconds: number | undefined;
}

const headerName = /^[\w!#$%&'*+.^`|~-]+$/;

/**
 * Reads the head of an answer, without the empty line at its end.
 *
 * @throws {MalformedAnswerError} when it is no HTTP/1, or its body could end in two places.
 */
export function headOf(text: string, method: string): { head: AnswerHead; frame: AnswerFrame } {
  const [statusLine = '', ...lines] = text.split('\r\n');
  const [, minor, digits] = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: .*)?$/.exec(statusLine) ?? [];
  if (digits === undefined) throw new MalformedAnswerError('The answer is no HTTP.');
  const status = Number(digits);
  if (status === 101) throw new MalformedAnswerError('The answer changes the protocol.');
  const headers = headersOf(lines);
  const connection = (headers['connection'] ?? '').toLowerCase().split(/[ \t]*,[ \t]*/);
  const isKeptAlive = minor === '1' ? !connection.includes('close') : connection.includes('keep-alive');
  const timeout = /(?:^|[ ,])timeout=(\d{1,9})/.exec(headers['keep-alive'] ?? '')?.[1];
  const keepAliveSeconds = timeout === undefined ? undefined : Number(timeout);
  const body = bodyOf(headers, { status, method });
  const frame = { ...body, isKeptAlive: isKeptAlive && body.kind !== 'until close', keepAliveSeconds };
  return { head: { status, headers }, frame };
}

/** Headers that come twice are joined, as they may be by any proxy. */
function headersOf(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (!headerName.test(name) || /[\r\n\0]/.test(value))
      throw new MalformedAnswerError('The answer has a malformed header.');
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return headers;
}

function bodyOf(
  headers: Readonly<Record<string, string>>,
  { status, method }: { status: number; method: string },
): Pick<AnswerFrame, 'kind' | 'bodyBytes'> {
  const { 'transfer-encoding': encoding, 'content-length': length } = headers;
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304)
    return { kind: 'length', bodyBytes: 0 };
  if (encoding !== undefined) {
    if (encoding.toLowerCase() !== 'chunked' || length !== undefined)
      throw new MalformedAnswerError('The answer does not say where its body ends.');
    return { kind: 'chunked' };
  }
  if (length === undefined) return { kind: 'until close' };
  const bodyBytes = Number(length);
  if (!/^\d+$/.test(length) || !Number.isSafeInteger(bodyBytes))
    throw new MalformedAnswerError('The answer has a Content-Length that is no number of bytes.');
  return { kind: 'length', bodyBytes };
}
