import type { IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest, Agent as TlsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { redactText } from '../rules/text.ts';

/**
 * An `import` of node:http reads everything that it exports. One of that is WebSocket, for which Node 22 and newer load
 * all of undici: a quarter of the time in which a function loads.
 */
const { request: httpRequest, Agent: PlainAgent } = process.getBuiltinModule('node:http');

/** A signed request. */
export interface SignedRequest {
  readonly method: 'GET' | 'HEAD' | 'DELETE' | 'POST' | 'PUT';
  /** `https://host` or `https://host:port`, no path. */
  readonly origin: string;
  /** Escaped, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Omitted: there is none. */
  readonly body?: string;
  /** Awaited when half of the body is sent. */
  readonly between?: (() => Promise<unknown>) | undefined;
}

export interface AnswerHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** Reads the body of an answer as it arrives. What it throws is what the exchange rejects with. */
export interface AnswerReader<T> {
  /** The piece is valid only during the call: what is kept of it must be copied. */
  write(piece: Buffer): void;
  /** Called once, and only if the body arrived whole. */
  end(): T;
}

/** How long one attempt may take. */
export interface ExchangeLimits {
  /** Time to open a connection. */
  readonly connectMs: number;
  /** Time from the attempt's start to the head of its answer, and the longest pause within the answer. */
  readonly answerMs: number;
}

interface ExchangeInput<T> {
  readonly request: SignedRequest;
  readonly limits: ExchangeLimits;
  /** Called with the head of the answer. */
  readonly readerOf: (head: AnswerHead) => AnswerReader<T>;
  /** Ends the attempt, and its connection, with the signal's reason. */
  readonly stop?: AbortSignal | undefined;
}

/** Sends one request and reads its answer: over the network, or from memory to warm up. Nothing is retried here. */
export interface Exchange {
  send<T>(input: ExchangeInput<T>): Promise<T>;
  /** Closes the connections that are kept alive. */
  destroy(): void;
}

/**
 * Longest time that a connection waits for its next request. S3 closes it after 5 to 20 seconds, and a frozen process
 * does not hear of that. A request on a closed connection fails, and not all may be sent again. The price: a function
 * with less than a request in this time opens a new connection for each.
 */
const idleMsMax = 4_000;

/** How often connections are looked at, so that one may wait as much longer. */
const checkEveryMs = 100;

interface Target {
  readonly origin: string;
  readonly send: typeof httpsRequest;
  readonly agent: InstanceType<typeof PlainAgent>;
  readonly hostname: string;
  readonly port: string;
}

/** An attempt took too long. Its name is that of the SDK's. */
class AttemptTimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** The network: Node's own client, on connections that are kept alive. */
export class HttpExchange implements Exchange {
  readonly #agents: { readonly plain: InstanceType<typeof PlainAgent>; readonly tls: TlsAgent };
  /** Of connections that wait for a request: whether they may be used again. */
  readonly #isFresh = new WeakMap<Socket, () => boolean>();

  #isChecked = () => false;
  #target: Target | undefined;

  constructor({ socketsMax }: { socketsMax: number }) {
    const options = { keepAlive: true, maxSockets: socketsMax };
    this.#agents = { plain: new PlainAgent(options), tls: new TlsAgent(options) };
    // Without TCP's keep-alive, which the agent's own way sets anew each time. Idle connections are closed long before.
    const keepSocketAlive = (socket: Socket): boolean => {
      socket.unref();
      this.#isFresh.set(socket, freshFor(idleMsMax));
      return true;
    };
    for (const agent of Object.values(this.#agents)) Object.assign(agent, { keepSocketAlive });
  }

  destroy(): void {
    this.#agents.plain.destroy();
    this.#agents.tls.destroy();
  }

  send<T>({ request, limits, readerOf, stop }: ExchangeInput<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const outgoing = this.#open(request);
      const late = (what: string, ms: number) => () =>
        fail(new AttemptTimeoutError(`${what} within ${ms} ms.`));
      const silence = setTimeout(late('Nothing arrived', limits.answerMs), limits.answerMs);
      let connecting: NodeJS.Timeout | undefined;
      const settle = () => {
        clearTimeout(silence);
        clearTimeout(connecting);
        stop?.removeEventListener('abort', onStop);
      };
      // Of several failures the first one counts: a promise settles once.
      const fail = (error: unknown) => {
        settle();
        outgoing.destroy();
        reject(error);
      };
      const onStop = () => fail(stop?.reason);
      stop?.addEventListener('abort', onStop, { once: true });
      outgoing.on('error', fail);
      outgoing.on('socket', (socket: Socket) => {
        if (!socket.connecting) return;
        connecting = setTimeout(late('No connection was opened', limits.connectMs), limits.connectMs);
        socket.once('connect', () => clearTimeout(connecting));
      });
      outgoing.on('response', (response) => {
        silence.refresh();
        const reader = readerOf({ status: response.statusCode ?? 0, headers: response.headers });
        // A connection that closes before the answer is complete is an error, too.
        response.on('error', fail);
        response.on('data', (piece: Buffer) => {
          silence.refresh();
          try {
            reader.write(piece);
          } catch (error) {
            fail(error);
          }
        });
        response.on('end', () => {
          settle();
          // The answer is complete, so the connection stays open, whatever the reader makes of it.
          try {
            resolve(reader.end());
          } catch (error) {
            reject(error);
          }
        });
      });
      const { body = '', between } = request;
      if (!between) return void outgoing.end(request.body);
      const middle = Math.ceil(body.length / 2);
      outgoing.write(body.slice(0, middle), () => {
        between().then(() => outgoing.end(body.slice(middle)), fail);
      });
    });
  }

  #open({ method, origin, path, headers, body }: SignedRequest) {
    const { send, agent, hostname, port } = this.#targetOf(origin);
    this.#closeStale(agent);
    // As a list, Node sends them as they are. In an object it looks at each several times, and the length of a body is
    // its own business.
    const list: string[] = [];
    for (const name in headers) list.push(name, headers[name] ?? '');
    if (body !== undefined) list.push('content-length', String(Buffer.byteLength(body)));
    return send({ method, hostname, port, path, headers: list, agent });
  }

  /** All requests go to one place, until AWS redirects them. */
  #targetOf(origin: string): Target {
    if (this.#target?.origin === origin) return this.#target;
    const { protocol, hostname, port } = new URL(origin);
    const isTls = protocol === 'https:';
    this.#target = {
      origin,
      send: isTls ? httpsRequest : httpRequest,
      agent: isTls ? this.#agents.tls : this.#agents.plain,
      // A URL has brackets around an IPv6 address, a socket has none.
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port,
    };
    return this.#target;
  }

  /** An agent passes over connections that are closed. It isn't looked at for each of a hundred requests at a time. */
  #closeStale({ freeSockets }: { readonly freeSockets: NodeJS.ReadOnlyDict<Socket[]> }): void {
    if (this.#isChecked()) return;
    for (const socket of Object.values(freeSockets).flatMap((sockets = []) => sockets))
      if (this.#isFresh.get(socket)?.() === false) socket.destroy();
    this.#isChecked = freshFor(checkEveryMs);
  }
}

/**
 * For a connection that is idle from now on.
 *
 * @returns whether a request may still be sent on it, by the clock of the process and by that of the day: one may stand
 * still.
 */
function freshFor(idleMs: number): () => boolean {
  const [atMs, atDateMs] = [performance.now() + idleMs, Date.now() + idleMs];
  return () => performance.now() < atMs && Date.now() < atDateMs;
}

/** The store answered with a status that isn't success. Its name is the code in the answer, such as `SlowDown`. */
export class StoreAnswerError extends Error {
  readonly status: number;
  /** How long the store asks to wait. */
  readonly retryAfterMs: number | undefined;
  /** Where the bucket is, if the store says so. */
  readonly bucketRegion: string | undefined;

  constructor(input: {
    status: number;
    code: string | undefined;
    message: string | undefined;
    region?: string | undefined;
    head?: AnswerHead;
  }) {
    const { status, head } = input;
    super(redactText(input.message ?? `The store returned ${status}.`));
    // An answer to HEAD has no body, and so no code.
    this.name = input.code ?? (status === 404 ? 'NotFound' : 'Unknown');
    this.status = status;
    this.retryAfterMs = waitOf(headerOf(head, 'retry-after'));
    this.bucketRegion = headerOf(head, 'x-amz-bucket-region') ?? input.region;
  }
}

/** The answer cannot be the truth, whatever its status says. It may be right the next time. */
export class MalformedAnswerError extends Error {
  override readonly name: string = 'MalformedAnswerError';
}

/** Reads an answer to its end, or to the most that is read of it. @param finish makes the result, or throws. */
export function bytesReader<T>(bytesMax: number, finish: (bytes: Buffer) => T): AnswerReader<T> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const end = () => finish(Buffer.concat(pieces));
  return {
    // Throws to close the connection: who talks without end is not waited for.
    write(piece) {
      pieces.push(Buffer.from(piece));
      bytes += piece.length;
      if (bytes <= bytesMax) return;
      end();
      throw new MalformedAnswerError(`The answer has more than ${bytesMax} bytes.`);
    },
    end,
  };
}

/** The same of a text. */
export const textReader = <T>(bytesMax: number, finish: (text: string) => T) =>
  bytesReader(bytesMax, (bytes) => finish(bytes.toString()));

/** More of an error document is not read. */
const errorBytesMax = 16_384;

/** Reads an error document, and throws it as {@link StoreAnswerError}. */
export function refusalReader(head: AnswerHead): AnswerReader<never> {
  return textReader<never>(errorBytesMax, (text) => {
    throw new StoreAnswerError({ status: head.status, ...errorIn(text), head });
  });
}

/** Reads an answer whose body says nothing, unless it is an error: S3 may send one with status 200. */
export function emptyReader(): AnswerReader<void> {
  return textReader(errorBytesMax, (text) => {
    const { code, message } = errorIn(text);
    if (code !== undefined) throw new StoreAnswerError({ status: 503, code, message });
  });
}

/** What an error document says. Undefined if the text is none. */
export function errorIn(text: string): Record<'code' | 'message' | 'region', string | undefined> {
  const [, inner] = /<Error>(.*)/s.exec(text) ?? [];
  const part = (name: string) =>
    inner === undefined ? undefined : new RegExp(`<${name}>([^<]+)`).exec(inner)?.[1];
  return { code: part('Code'), message: part('Message'), region: part('Region') };
}

/** The value of a header that comes once. */
function headerOf(head: AnswerHead | undefined, name: string): string | undefined {
  const value = head?.headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** Retry-After is a number of seconds or a date. */
function waitOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : ms;
}

/** The XML that the page reader needs: the text of single elements, and keys. */

/** The bytes are not a complete, well-formed page. It must be fetched again. */
export class MalformedPageError extends MalformedAnswerError {
  override readonly name = 'MalformedPageError';
}

/** What is wrong about the page is no accident: the next one would have it, too. */
export class OtherProtocolError extends MalformedPageError {}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** @throws {MalformedPageError} when the text contains an entity that stands for no character. */
export function unescapeXml(text: string): string {
  if (!text.includes('&')) return text;
  const unescaped = text.replace(/&([^;&]*);?/g, (whole, name: string) => {
    if (!whole.endsWith(';')) throw new MalformedPageError('The page contains an "&" that starts no entity.');
    const code = codePointOf(name);
    const known = entities[name];
    if (known !== undefined) return known;
    if (!(code >= 0 && code <= 0x10ffff)) {
      throw new MalformedPageError(`The page contains the unknown entity "&${name};".`);
    }
    return String.fromCodePoint(code);
  });
  // Half a surrogate pair can't be sent back to the store.
  if (/\p{Surrogate}/u.test(unescaped)) throw new MalformedPageError('The page contains half a character.');
  return unescaped;
}

/** The number in the name of an entity such as `#252` or `#xfc`. NaN if there is none. */
function codePointOf(name: string): number {
  const [, hex, decimal] = /^#(?:x([\da-f]+)|(\d+))$/i.exec(name) ?? [];
  return hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
}
