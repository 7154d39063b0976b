import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { HttpRequest } from '@smithy/protocol-http';
import { SignatureV4 } from '@smithy/signature-v4';
import { NodeSha256 } from '../../lambda/core/rules/hash.ts';
import { type RunningStore, type StoreOptions, startStore } from '../../local/store/start-store.ts';
import { type RawAnswer, sendRaw } from './raw-request.ts';

export const bucket = 'objects';
export const credentials = { accessKeyId: 'local', secretAccessKey: 'local-secret' };

/** A local store on a temporary folder, with access to what only tests look at. */
export class StoreFixture {
  readonly dataDir: string;
  #running: RunningStore;
  readonly #errors: unknown[];

  private constructor(input: { dataDir: string; running: RunningStore; errors: unknown[] }) {
    this.dataDir = input.dataDir;
    this.#running = input.running;
    this.#errors = input.errors;
  }

  static async start(options: Partial<StoreOptions> = {}): Promise<StoreFixture> {
    const dataDir = options.dataDir ?? (await mkdtemp(path.join(tmpdir(), 'store-')));
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const running = await startStore({ port: 0, bucket, credentials, onError, ...options, dataDir });
    return new StoreFixture({ dataDir, running, errors });
  }

  get url(): string {
    return this.#running.url;
  }

  get port(): number {
    return this.#running.port;
  }

  /** What a HEAD answers, without a request. */
  head(key: string): ReturnType<RunningStore['head']> {
    return this.#running.head(key);
  }

  damage(): ReturnType<RunningStore['damage']['read']> {
    return this.#running.damage.read();
  }

  discardDamaged(key: string): Promise<number | undefined> {
    return this.#running.discardDamaged(key);
  }

  /** The unexpected errors that the store reported. */
  get errors(): readonly unknown[] {
    return this.#errors;
  }

  async restart(options: Partial<StoreOptions> = {}): Promise<void> {
    await this.#running.close();
    this.#running = await startStore({ port: 0, bucket, credentials, ...options, dataDir: this.dataDir });
  }

  /** Stops the store, and leaves its data. */
  async close(): Promise<void> {
    await this.#running.close();
  }

  async stop(): Promise<void> {
    await this.close();
    await rm(this.dataDir, { recursive: true });
  }

  /** A client of the SDK, with the setting that the store wants. */
  client(config: S3ClientConfig = {}): S3Client {
    return new S3Client({
      region: 'us-east-1',
      endpoint: this.url,
      forcePathStyle: true,
      credentials,
      requestChecksumCalculation: 'WHEN_REQUIRED',
      ...config,
    });
  }

  /** Files of uploads that are not objects, or not yet. */
  async uploadsLeft(): Promise<string[]> {
    return await readdir(path.join(this.dataDir, 'uploads'));
  }

  /** Sends a request exactly as given, signed in its headers. */
  async send(input: SignedInput): Promise<RawAnswer & { readonly code: string | undefined }> {
    const { headers, href } = await signHeaders(this.url, input);
    const body = input.sentBody ?? input.body;
    const answer = await sendRaw({
      href,
      method: input.method,
      headers,
      ...(body !== undefined && { body }),
    });
    return { ...answer, code: /<Code>(\w+)<\/Code>/.exec(answer.body.toString())?.[1] };
  }
}

export interface SignedInput {
  readonly method: string;
  /** Escaped, beginning with the slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Signed. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent, but not signed. */
  readonly unsignedHeaders?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** Sent instead of the signed body. */
  readonly sentBody?: Buffer;
  readonly credentials?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
  readonly signedAtMs?: number;
}

export async function signHeaders(url: string, input: SignedInput) {
  const { host, hostname, port } = new URL(url);
  const signer = new SignatureV4({
    service: 's3',
    region: 'us-east-1',
    credentials: input.credentials ?? credentials,
    sha256: NodeSha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  const query = { ...input.query };
  const request = new HttpRequest({
    method: input.method,
    protocol: 'http:',
    hostname,
    port: Number(port),
    path: input.path,
    query,
    headers: {
      host,
      'x-amz-content-sha256': createHash('sha256')
        .update(input.body ?? '')
        .digest('hex'),
      ...(input.body !== undefined && { 'content-length': String(input.body.length) }),
      ...input.headers,
    },
  });
  const signed = await signer.sign(request, { signingDate: new Date(input.signedAtMs ?? Date.now()) });
  const search = new URLSearchParams(query).toString();
  return {
    href: `${url}${input.path}${search === '' ? '' : `?${search}`}`,
    headers: { ...signed.headers, ...input.unsignedHeaders },
  };
}
