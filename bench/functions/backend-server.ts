import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { listenOnLoopback } from '../../local/system/loopback-server.ts';
import { firstObjects } from '../list-server/keys.ts';
import { ListServer } from '../list-server/server.ts';
import { adminToken, isStored, repo, storedBytes, tenant } from './world.ts';

/** Time to the first byte of each service. The table's own work comes on top. */
export const latenciesMs = { table: 5, queue: 8, secret: 20, head: 20, list: 100 } as const;

export interface BackendParts {
  readonly tls: { readonly key: string; readonly cert: string };
  /** Answers DynamoDB's protocol. */
  readonly table: (request: IncomingMessage, response: ServerResponse) => void;
}

/**
 * All services that a function calls, behind one port with TLS. The header that names an operation tells them
 * apart; S3 has no such header.
 */
export class BackendServer {
  /** Messages that the queue received. */
  messages = 0;
  readonly #parts: BackendParts;
  readonly #list = new ListServer();
  /** By the number of objects in the bucket. */
  readonly #sizes = new Map<number, ReadonlyMap<string, number>>();

  constructor(parts: BackendParts) {
    this.#parts = parts;
    this.#list.behave({ latencyMs: latenciesMs.list });
  }

  async listen(): Promise<number> {
    const server = createServer({ ...this.#parts.tls, keepAliveTimeout: 60_000 }, (request, response) => {
      void this.#answer(request, response);
    });
    return listenOnLoopback(server, { port: 0, usedBy: 'the backend' });
  }

  /** Makes the objects of the bucket `n{count}`. */
  prepare(count: number): void {
    this.#sizesIn(`n${count}`);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [service = '', operation = ''] = String(request.headers['x-amz-target'] ?? '').split('.');
    if (service.startsWith('DynamoDB')) {
      await sleep(latenciesMs.table);
      this.#parts.table(request, response);
    } else if (service === 'AmazonSQS') {
      const answer = this.#send(operation, JSON.parse(await text(request)));
      await sleep(latenciesMs.queue);
      json(response, answer);
    } else if (service === 'secretsmanager') {
      await sleep(latenciesMs.secret);
      json(response, { Name: 'admin', SecretString: adminToken });
    } else if (request.method === 'HEAD') {
      await sleep(latenciesMs.head);
      this.#head(request.url ?? '', response);
    } else if (request.url?.includes('delimiter=')) {
      await sleep(latenciesMs.list);
      response.writeHead(200, { 'content-type': 'application/xml' }).end(folders);
    } else {
      await this.#list.answer(request, response);
    }
  }

  #head(url: string, response: ServerResponse): void {
    const [, bucket = '', ...key] = new URL(url, 'https://store').pathname.split('/');
    const oid = key.at(-1) ?? '';
    const sizeBytes = this.#sizesIn(bucket).get(oid) ?? (isStored(oid) ? storedBytes : undefined);
    head(response, { oid, sizeBytes });
  }

  /** Name → bytes of what the bucket `n{count}` lists. */
  #sizesIn(bucket: string): ReadonlyMap<string, number> {
    const count = Number(bucket.slice(1));
    const sizes =
      this.#sizes.get(count) ??
      new Map(firstObjects(this.#list.keySet(count), count).map(({ name, sizeBytes }) => [name, sizeBytes]));
    this.#sizes.set(count, sizes);
    return sizes;
  }

  /** SendMessage or SendMessageBatch. The SDK checks the hash of each message in the answer. */
  #send(operation: string, body: SendBody): object {
    const entries = operation === 'SendMessageBatch' ? (body.Entries ?? []) : [body];
    this.messages += entries.length;
    const taken = entries.map(({ Id, MessageBody = '' }) => ({
      ...(Id !== undefined && { Id }),
      MessageId: `message-${this.messages}`,
      MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex'),
      SequenceNumber: String(this.messages),
    }));
    return operation === 'SendMessageBatch' ? { Successful: taken, Failed: [] } : (taken[0] ?? {});
  }
}

interface SendBody {
  readonly Id?: string;
  readonly MessageBody?: string;
  readonly Entries?: readonly SendBody[];
}

function json(response: ServerResponse, body: object): void {
  const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-requestid': 'R1' };
  response.writeHead(200, headers).end(JSON.stringify(body));
}

function head(response: ServerResponse, object: { oid: string; sizeBytes: number | undefined }): void {
  const { oid, sizeBytes } = object;
  if (sizeBytes === undefined) {
    // Like S3. Without either header, Node's client would not use the connection again.
    response.writeHead(404, { 'content-type': 'application/xml', 'transfer-encoding': 'chunked' }).end();
    return;
  }
  response.writeHead(200, {
    'content-length': sizeBytes,
    'content-type': 'binary/octet-stream',
    etag: `"${oid.slice(0, 32)}"`,
    'last-modified': 'Sun, 01 Nov 2026 10:00:00 GMT',
    'x-amz-checksum-sha256': Buffer.from(oid, 'hex').toString('base64'),
    'x-amz-checksum-type': 'FULL_OBJECT',
    'x-amz-server-side-encryption': 'AES256',
  });
  response.end();
}

/** The answer to a LIST of the tenant with a delimiter: its one repo. */
const folders =
  '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
  `<Name>bucket</Name><Prefix>${tenant}/</Prefix><KeyCount>1</KeyCount><MaxKeys>1000</MaxKeys><Delimiter>/</Delimiter>` +
  `<IsTruncated>false</IsTruncated><CommonPrefixes><Prefix>${tenant}/${repo}/</Prefix></CommonPrefixes></ListBucketResult>`;
