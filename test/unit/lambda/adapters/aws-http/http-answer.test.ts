import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MalformedAnswerError } from '../../../../../lambda/adapters/aws-http/answers.ts';
import type { AnswerHead } from '../../../../../lambda/adapters/aws-http/exchange.ts';
import { HttpAnswer } from '../../../../../lambda/adapters/aws-http/http-answer.ts';

interface Read {
  readonly heads: AnswerHead[];
  readonly body: string;
  readonly isComplete: boolean;
  readonly isReusable: boolean;
  readonly keepAliveSeconds: number | undefined;
}

/** Reads an answer that arrives in pieces, all in one buffer as on a connection. */
function read(
  text: string,
  options: { method?: string; cuts?: readonly number[]; isClosed?: boolean } = {},
): Read {
  const { method = 'GET', cuts = [], isClosed = false } = options;
  const bytes = Buffer.from(text, 'latin1');
  const heads: AnswerHead[] = [];
  let body = '';
  const answer = new HttpAnswer({
    method,
    onHead: (head) => heads.push(head),
    onPiece: (piece) => {
      expect(heads).toHaveLength(1);
      body += piece.toString('latin1');
    },
  });
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  const buffer = Buffer.alloc(bytes.length);
  for (const [index, place] of places.entries()) {
    const count = bytes.copy(buffer, 0, places[index - 1] ?? 0, place);
    answer.push(buffer.subarray(0, count));
    buffer.fill('\r\n');
  }
  if (isClosed) answer.close();
  const { isComplete, isReusable, keepAliveSeconds } = answer;
  return { heads, body, isComplete, isReusable, keepAliveSeconds };
}

const anyCuts = fc.array(fc.nat(2_000), { maxLength: 20 });
const anyBody = fc.string({ unit: 'binary-ascii', maxLength: 200 });
const anyChunks = fc.array(fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 300 }), {
  maxLength: 6,
});
const chunked = (chunks: readonly string[], { extension = '', trailers = '' } = {}) =>
  'HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n' +
  chunks.map((chunk) => `${chunk.length.toString(16)}${extension}\r\n${chunk}\r\n`).join('') +
  `0\r\n${trailers}\r\n`;

describe('an answer is read, in whatever pieces it arrives', () => {
  it('with a length', () => {
    fc.assert(
      fc.property(anyBody, anyCuts, (body, cuts) => {
        const text = `HTTP/1.1 206 Partial Content\r\nContent-Length:${body.length}\r\nX-A:  b c \r\n\r\n${body}`;
        expect(read(text, { cuts })).toEqual({
          heads: [{ status: 206, headers: { 'content-length': String(body.length), 'x-a': 'b c' } }],
          body,
          isComplete: true,
          isReusable: true,
          keepAliveSeconds: undefined,
        });
      }),
    );
  });

  it('in chunks', () => {
    const anyOptions = fc.record({
      extension: fc.constantFrom('', ';a=b', ' ;a'),
      trailers: fc.constantFrom('', 'x: y\r\n', 'x: y\r\nz: 1\r\n'),
    });
    fc.assert(
      fc.property(anyChunks, anyOptions, anyCuts, (chunks, options, cuts) => {
        const found = read(chunked(chunks, options), { cuts });
        expect(found).toMatchObject({ body: chunks.join(''), isComplete: true, isReusable: true });
      }),
    );
  });

  it('up to the end of the connection', () => {
    fc.assert(
      fc.property(anyBody, anyCuts, (body, cuts) => {
        const text = `HTTP/1.1 200\r\n\r\n${body}`;
        expect(read(text, { cuts })).toMatchObject({ isComplete: false });
        const found = read(text, { cuts, isClosed: true });
        expect(found).toMatchObject({ body, isComplete: true, isReusable: false });
      }),
    );
  });

  it('after answers that only announce it', () => {
    const text =
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 204 None\r\n\r\n';
    for (let cut = 0; cut < text.length; cut += 1) {
      const found = read(text, { cuts: [cut] });
      expect(found).toMatchObject({ heads: [{ status: 204, headers: {} }], body: '', isReusable: true });
    }
  });

  it.each([
    ['HEAD', '200 OK'],
    ['HEAD', '404 Not Found'],
    ['GET', '204 No Content'],
    ['GET', '304 Not Modified'],
  ])('of %s with %s without a body, whatever length it has', (method, status) => {
    for (const length of ['content-length: 700', 'content-length: none', 'transfer-encoding: chunked']) {
      const found = read(`HTTP/1.1 ${status}\r\n${length}\r\n\r\n`, { method });
      expect(found).toMatchObject({ body: '', isComplete: true, isReusable: true });
    }
  });

  it('with a header that comes twice', () => {
    const [head] = read('HTTP/1.1 204 None\r\nvary: a\r\nVary: b\r\n\r\n').heads;
    expect(head?.headers).toEqual({ vary: 'a, b' });
  });
});

describe('an answer is not complete', () => {
  it.each([
    'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello',
    chunked(['hello', 'there'], { trailers: 'x: y\r\n' }),
  ])('before its last byte: %j', (text) => {
    for (let length = 0; length < text.length; length += 1)
      expect(read(text.slice(0, length), { isClosed: true }).isComplete).toBe(false);
    expect(read(text).isComplete).toBe(true);
  });
});

describe('a connection is not used again', () => {
  const good = 'content-length: 0\r\n';
  it.each([
    ['if it is to be closed', `HTTP/1.1 200 OK\r\n${good}Connection: x, Close\r\n\r\n`],
    ['after HTTP/1.0', `HTTP/1.0 200 OK\r\n${good}\r\n`],
    ['after bytes that belong to no answer', `HTTP/1.1 200 OK\r\n${good}\r\nx`],
    ['after chunks and such bytes', `${chunked(['a'])}HTTP/1.1 200 OK\r\n`],
  ])('%s', (_what, text) => {
    expect(read(text)).toMatchObject({ isComplete: true, isReusable: false });
  });

  it('after the time that the other side keeps it', () => {
    const seconds = (value: string) =>
      read(`HTTP/1.1 200 OK\r\n${good}keep-alive: ${value}\r\n\r\n`).keepAliveSeconds;
    expect(['timeout=5', 'max=9, timeout=60', 'max=9', 'nontimeout=1'].map(seconds)).toEqual([
      5,
      60,
      undefined,
      undefined,
    ]);
    expect(read(`HTTP/1.0 200 OK\r\n${good}connection: keep-alive\r\n\r\n`).isReusable).toBe(true);
  });
});

describe('what could be read in two ways is an error', () => {
  const ok = 'HTTP/1.1 200 OK\r\n';
  it.each([
    ['no HTTP', 'nonsense\r\n\r\n'],
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['no status', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a change of the protocol', 'HTTP/1.1 101 Switching\r\n\r\n'],
    ['a header without a name', `${ok}: b\r\n\r\n`],
    ['a header without a colon', `${ok}a\r\n\r\n`],
    ['a space before the colon', `${ok}content-length : 5\r\n\r\n`],
    ['a header that goes on in the next line', `${ok}a: b\r\n c\r\n\r\n`],
    ['a line that ends without a return', `${ok}a: b\ncontent-length: 5\r\n\r\n`],
    ['two lengths', `${ok}content-length: 5\r\ncontent-length: 6\r\n\r\n`],
    ['a length and chunks', `${ok}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`],
    ['an unknown encoding', `${ok}transfer-encoding: gzip, chunked\r\n\r\n`],
    ['a length with a sign', `${ok}content-length: +5\r\n\r\n`],
    ['a length that no number holds', `${ok}content-length: 9007199254740993\r\n\r\n`],
    ['a chunk without a length', `${ok}transfer-encoding: chunked\r\n\r\n\r\n`],
    ['a chunk with a negative length', `${ok}transfer-encoding: chunked\r\n\r\n-1\r\n`],
    ['a chunk that is too long to count', `${ok}transfer-encoding: chunked\r\n\r\n10000000000000\r\n`],
    ['a chunk longer than its length', `${ok}transfer-encoding: chunked\r\n\r\n2\r\nabc\r\n`],
    ['a head without an end', `${ok}a: ${'b'.repeat(70_000)}`],
    ['a chunk line without an end', `${ok}transfer-encoding: chunked\r\n\r\n1;${'b'.repeat(2_000)}`],
  ])('%s', (_what, text) => {
    expect(() => read(text)).toThrow(MalformedAnswerError);
    expect(() => read(text, { cuts: Array.from({ length: 50 }, (_, index) => index) })).toThrow(
      MalformedAnswerError,
    );
  });
});
