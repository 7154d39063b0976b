import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ListFaults, listXml } from './list.ts';
import { Multipart, type MultipartFaults } from './multipart.ts';
import { errorReply, type FakeObject, type Reply } from './reply.ts';
import { type FakeRequest, readRequest } from './request.ts';

/** Why a request is refused, in the order in which it is looked for. */
export type Refusal =
  | 'Expired'
  | 'UnsignedHeaders'
  | 'SignatureDoesNotMatch'
  | 'IncompleteBody'
  | 'BadDigest';

/** How a store misbehaves. Without any of it, it behaves as S3 does. */
export interface Misbehaviour {
  /** The store's clock minus the machine's. */
  readonly clockOffsetMs?: number;
  /** Replaces the answer, before anything is done. */
  readonly instead?: (request: FakeRequest, store: FakeS3) => Reply | undefined | Promise<Reply | undefined>;
  /** A refusal that is left out. */
  readonly overlooks?: (refusal: Refusal, request: FakeRequest) => boolean | Promise<boolean>;
  /** Changes the answer, after everything is done. */
  readonly changes?: (reply: Reply, request: FakeRequest, store: FakeS3) => Reply;
  readonly list?: ListFaults;
  readonly multipart?: MultipartFaults;
}

export const fakeBucket = 'objects';
export const fakeCredentials = { accessKeyId: 'fake-key', secretAccessKey: 'fake-secret' };

/**
 * A small S3 in memory that can misbehave. It verifies signed URLs only: it is for tests of what looks at a store from
 * outside.
 */
export class FakeS3 {
  readonly objects = new Map<string, FakeObject>();
  readonly multipart: Multipart;
  /** What was asked before, the latest first. */
  readonly asked: FakeRequest[] = [];
  readonly #faults: Misbehaviour;
  readonly #server: Server;

  constructor(faults: Misbehaviour = {}) {
    this.#faults = faults;
    this.multipart = new Multipart(this.objects, faults.multipart ?? {});
    this.#server = createServer((message, response) => void this.#serve(message, response));
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  get nowMs(): number {
    return Date.now() + (this.#faults.clockOffsetMs ?? 0);
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(message, fakeCredentials);
    const reply = await this.#reply(request);
    this.asked.unshift(request);
    response.sendDate = false;
    const headers = { date: new Date(this.nowMs).toUTCString(), ...reply.headers };
    const body = request.method === 'HEAD' ? undefined : (reply.body ?? Buffer.alloc(0));
    if (body !== undefined) Object.assign(headers, { 'content-length': String(body.length) });
    response.writeHead(reply.status, headers);
    response.end(body);
  }

  async #reply(request: FakeRequest): Promise<Reply> {
    const { instead, overlooks, changes } = this.#faults;
    let reply = await instead?.(request, this);
    if (reply === undefined) {
      for await (const refusal of this.#refusals(request)) {
        if (await overlooks?.(refusal, request)) continue;
        reply = errorReply(refusal === 'BadDigest' || refusal === 'IncompleteBody' ? 400 : 403, refusal);
        break;
      }
    }
    reply ??= this.#run(request);
    return changes?.(reply, request, this) ?? reply;
  }

  async *#refusals(request: FakeRequest): AsyncGenerator<Refusal> {
    const { headers, query, isPresigned, method } = request;
    if (this.nowMs > request.expiresAtMs) yield 'Expired';
    const signed = (query.get('X-Amz-SignedHeaders') ?? '').split(';');
    const isUnsigned = (name: string) => name.startsWith('x-amz-') && !signed.includes(name);
    if (isPresigned && Object.keys(headers).some(isUnsigned)) yield 'UnsignedHeaders';
    if (!(await request.isSignedAs())) yield 'SignatureDoesNotMatch';
    if (request.isCut) yield 'IncompleteBody';
    const checksum = headers['x-amz-checksum-sha256'];
    if (method === 'PUT' && checksum !== undefined && checksum !== request.bodySha256) yield 'BadDigest';
  }

  #run(request: FakeRequest): Reply {
    const { bucket, key, method, query } = request;
    if (bucket !== fakeBucket) return errorReply(404, 'NoSuchBucket');
    if (key === '')
      return { status: 200, body: Buffer.from(listXml(this.objects, query, this.#faults.list ?? {})) };
    const special = this.multipart.answer(request);
    if (special !== undefined) return special;
    const object = this.objects.get(key);
    if (method === 'PUT') {
      const sha256 = request.headers['x-amz-checksum-sha256'];
      this.objects.set(key, { body: request.body, ...(typeof sha256 === 'string' && { sha256 }) });
      return { status: 200 };
    }
    if (method === 'DELETE') {
      this.objects.delete(key);
      return { status: 204 };
    }
    if (method === 'POST') return errorReply(405, 'MethodNotAllowed');
    if (object === undefined) return errorReply(404, 'NoSuchKey');
    const { body, sha256 } = object;
    const length = method === 'HEAD' ? { 'content-length': String(body.length) } : {};
    return { status: 200, headers: { ...length, ...(sha256 && { 'x-amz-checksum-sha256': sha256 }) }, body };
  }
}
