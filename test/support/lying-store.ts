import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { escapeUriPath } from '@smithy/core/protocols';
import { element, xmlReply } from '../../local/store/protocol.ts';
import {
  computeSignature,
  readSignature,
  readStoreRequest,
  type StoreRequest,
} from '../../local/store/signed-request.ts';
import { sendRaw } from './raw-request.ts';
import { bucket, credentials, StoreFixture } from './store-fixture.ts';

export interface Reply {
  readonly status: number;
  readonly headers?: IncomingMessage['headers'];
  readonly body?: Buffer | string;
  /** The connection is cut after the body, which is not all of it. */
  readonly isCut?: boolean;
}

/** The store's reason not to do what it was asked to. */
export interface Refusal {
  readonly code: string;
  readonly text: string;
}

/** What a request could have been signed as. */
interface SignedAs {
  readonly method?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AskedRequest extends StoreRequest {
  /** In the order of arrival, from 1. */
  readonly number: number;
  readonly target: string;
  readonly body: Buffer;
  /** The client went away before the whole body was there. */
  readonly isCut: boolean;
  readonly isPresigned: boolean;
}

/** How a store misbehaves. Without any of it, all is answered by the honest store. */
export interface Faults {
  /** Answers instead of the store, which is then not asked. An error cuts the connection. */
  readonly instead?: (
    request: AskedRequest,
    store: LyingStore,
  ) => Reply | undefined | Promise<Reply | undefined>;
  /** A refusal that is left out: what was asked for is done all the same. */
  readonly overlooks?: (refusal: Refusal, request: AskedRequest) => boolean | Promise<boolean>;
  /** Changes the answer, after everything is done. */
  readonly changes?: (reply: Reply, request: AskedRequest, store: LyingStore) => Reply | Promise<Reply>;
  /** The store's clock minus the machine's. */
  readonly clockOffsetMs?: number;
}

export function errorReply(status: number, code: string, message = code): Reply {
  const { body } = xmlReply('Error', [element('Code', code), element('Message', message)]);
  return { status, body: String(body) };
}

/**
 * The local store with a liar before it. The liar knows the access key: what the honest store would refuse, it asks for in
 * its own name. So a fault is only what differs from the store, and the store itself knows no faults.
 */
export class LyingStore {
  readonly url: string;
  readonly honest: StoreFixture;
  /** What was answered before, the latest first. */
  readonly asked: AskedRequest[] = [];
  readonly close: () => Promise<void>;
  readonly #faults: Faults;
  #arrived = 0;

  private constructor(input: {
    url: string;
    honest: StoreFixture;
    faults: Faults;
    close: () => Promise<void>;
  }) {
    this.url = input.url;
    this.honest = input.honest;
    this.#faults = input.faults;
    this.close = input.close;
  }

  static async start(faults: Faults = {}): Promise<LyingStore> {
    const { clockOffsetMs = 0 } = faults;
    const honest = await StoreFixture.start({ now: () => Date.now() + clockOffsetMs });
    const server = createServer({ keepAliveTimeout: 60_000 });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const close = async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    const store = new LyingStore({ url: `http://127.0.0.1:${port}`, honest, faults, close });
    server.on('request', (message, response) => {
      store.#serve(message, response).catch(() => response.destroy());
    });
    return store;
  }

  async stop(): Promise<void> {
    await this.close();
    await this.honest.stop();
  }

  /** What the honest store holds. */
  sizeOf(key: string): number | undefined {
    return this.honest.head(key)?.sizeBytes;
  }

  async put(key: string, body: Buffer): Promise<Reply> {
    return await this.honest.send({ method: 'PUT', path: `/${bucket}/${escapeUriPath(key)}`, body });
  }

  /** Asks the honest store for the same in the liar's own name, with other parameters or another body. */
  async ask(
    request: AskedRequest,
    changed: Partial<Pick<StoreRequest, 'query'>> & {
      body?: Buffer;
      /** By default none. */
      headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    const { method, canonicalPath: path } = request;
    const { body = request.body, query = request.query, headers = {} } = changed;
    return await this.honest.send({
      method,
      path,
      headers,
      query: Object.fromEntries([...query].filter(([name]) => !/^x-amz-/i.test(name))),
      ...(['PUT', 'POST'].includes(method) && { body }),
    });
  }

  /** All keys, and the keys of the unfinished uploads in parts. */
  async left(): Promise<{ keys: string[]; uploads: string[] }> {
    const client = this.honest.client();
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
    client.destroy();
    return { keys: Contents.map(({ Key = '' }) => Key), uploads: Uploads.map(({ Key = '' }) => Key) };
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#arrived += 1;
    const request = await readRequest(message, this.#arrived);
    const reply = await this.#reply(request);
    this.asked.unshift(request);
    const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...headers } = reply.headers ?? {};
    const { clockOffsetMs = 0 } = this.#faults;
    const date = new Date(Date.now() + clockOffsetMs).toUTCString();
    const body = request.method === 'HEAD' ? undefined : Buffer.from(reply.body ?? '');
    response.sendDate = false;
    response.writeHead(reply.status, {
      ...headers,
      ...((headers.date === undefined || clockOffsetMs !== 0) && { date }),
      ...(body !== undefined && { 'content-length': String(body.length + Number(reply.isCut ?? 0)) }),
    });
    if (reply.isCut === true) response.write(body, () => response.destroy());
    else response.end(body);
  }

  async #reply(request: AskedRequest): Promise<Reply> {
    const { instead, overlooks, changes } = this.#faults;
    let reply = await instead?.(request, this);
    if (reply === undefined) {
      reply = await this.#pass(request);
      const [, code, text = ''] =
        /<Code>(.*?)<\/Code><Message>(.*?)<\/Message>/s.exec(String(reply.body)) ?? [];
      if (code !== undefined && (await overlooks?.({ code, text }, request))) reply = await this.ask(request);
    }
    return (await changes?.(reply, request, this)) ?? reply;
  }

  /** Asks the honest store for exactly the same. */
  async #pass({ method, target, headers, body, isCut }: AskedRequest): Promise<Reply> {
    const href = this.honest.url + target;
    const sent = headers as Record<string, string>;
    if (!isCut) return await sendRaw({ href, method, headers: sent, ...(body.length > 0 && { body }) });
    const outgoing = httpRequest(href, { method, headers: sent, agent: false }).on('error', () => {});
    await new Promise((resolve) => {
      outgoing.on('close', resolve).write(body, () => outgoing.destroy());
    });
    return errorReply(400, 'IncompleteBody');
  }
}

async function readRequest(message: IncomingMessage, number: number): Promise<AskedRequest> {
  const request = readStoreRequest(message);
  const chunks: Buffer[] = [];
  let isCut = false;
  try {
    for await (const chunk of message) chunks.push(chunk as Buffer);
  } catch {
    isCut = true;
  }
  const isPresigned = request.query.has('X-Amz-Signature');
  return { ...request, number, target: message.url ?? '', body: Buffer.concat(chunks), isCut, isPresigned };
}

/** Whether the signature of a URL would be right if the request were another one. */
export async function isSignedAs(
  request: AskedRequest,
  { method = request.method, key = request.key, headers }: SignedAs,
): Promise<boolean> {
  if (!request.isPresigned) return false;
  const signature = readSignature(request);
  const canonicalPath = `/${request.bucket}/${escapeUriPath(key)}`;
  const other = { ...request, method, canonicalPath, headers: { ...request.headers, ...headers } };
  const payload = 'UNSIGNED-PAYLOAD';
  return (await computeSignature({ request: other, signature, payload, credentials })) === signature.value;
}
