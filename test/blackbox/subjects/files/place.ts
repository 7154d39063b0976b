import { expect } from 'vitest';
import { z } from 'zod';
import { type Answer, type Api, bearer, bodyOf, expectStatus, type TestTenant } from '../../api.ts';
import { subscriptionOf } from '../../subscription.ts';

const uploadShape = z.strictObject({
  name: z.string(),
  state: z.enum(['upload', 'stored', 'name-taken', 'over-limit']),
  url: z.url().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  expiresAt: z.iso.datetime().optional(),
  parts: z
    .array(
      z.strictObject({
        number: z.int(),
        bytes: z.int(),
        stored: z.literal(true).optional(),
        url: z.url().optional(),
        headers: z.record(z.string(), z.string()).optional(),
      }),
    )
    .optional(),
  uploadId: z.string().optional(),
  startedAt: z.iso.datetime().optional(),
  storedBytes: z.int().optional(),
  limit: z.enum(['tenant', 'repo']).optional(),
  usedBytes: z.int().optional(),
  reservedBytes: z.int().optional(),
  limitBytes: z.int().optional(),
  shortBytes: z.int().optional(),
  reservedUntil: z.iso.datetime().nullable().optional(),
});
const uploadsShape = z.strictObject({
  uploads: z.array(uploadShape).min(1),
  uploadId: z.string().nullable(),
  allUpload: z.boolean(),
});
export const usageShape = z.strictObject({
  prefix: z.string(),
  fileCount: z.int(),
  bytes: z.int(),
  nextCursor: z.string().nullable(),
});

export type Upload = z.output<typeof uploadShape>;

export interface AskedFile {
  readonly name: string;
  readonly bytes: number;
  readonly sha256?: string;
  readonly contentType?: string;
  readonly inParts?: boolean;
}

export const sevens = (bytes: number) => Buffer.alloc(bytes, 7);

/** A repo of kind `files` in a tenant of its own, as one of its backends sees it. */
export class FilesPlace {
  readonly api: Api;
  readonly own: TestTenant;
  readonly repo = 'media';
  readonly #uploadIds = new Set<string>();

  constructor(api: Api, own: TestTenant) {
    this.api = api;
    this.own = own;
  }

  static async of(api: Api, limitBytes: number | null = 1_000_000): Promise<FilesPlace> {
    const place = new FilesPlace(api, await api.newTenant({ limitBytes }));
    const created = await api.manage('POST', `/v1/tenants/${place.own.tenant}/repos`, {
      repo: place.repo,
      kind: 'files',
    });
    expectStatus(created, 201);
    return place;
  }

  path(below: string): string {
    return `/v1/tenants/${this.own.tenant}/repos/${this.repo}/${below}`;
  }

  ask(
    method: string,
    below: string,
    { body, who = bearer(this.own.writeToken) }: { body?: object; who?: Record<string, string> } = {},
  ): Promise<Answer> {
    return this.api.as(who, method, this.path(below), body);
  }

  /** Asks again while usage is being checked. */
  async request(files: readonly AskedFile[], headers: Record<string, string> = {}) {
    const who = { ...bearer(this.own.writeToken), ...headers };
    const ask = () => this.ask('POST', 'uploads', { body: { files }, who });
    let answer = await ask();
    for (let tries = 1; answer.status === 429 && tries < 30; tries += 1) {
      const seconds = z.coerce.number().min(1).parse(answer.headers['retry-after']);
      await new Promise((done) => setTimeout(done, seconds * 1000));
      answer = await ask();
    }
    const body = bodyOf(answer, 200, uploadsShape);
    for (const { uploadId } of [body, ...body.uploads]) if (uploadId) this.#uploadIds.add(uploadId);
    return body;
  }

  async one(file: AskedFile): Promise<Upload> {
    const [upload] = (await this.request([file])).uploads;
    expect(upload?.name).toBe(file.name);
    return upload as Upload;
  }

  /** @returns the store's status. */
  async put(
    upload: Pick<Upload, 'url' | 'headers'>,
    content: Buffer,
    headers = upload.headers,
  ): Promise<number> {
    const sent = { method: 'PUT', headers: { ...headers }, body: content };
    return (await this.api.follow(upload.url ?? '', sent)).status;
  }

  async store(name: string, content: Buffer): Promise<Upload> {
    const upload = await this.one({ name, bytes: content.length });
    expect([upload.state, await this.put(upload, content)]).toEqual(['upload', 200]);
    return upload;
  }

  cancel = (uploadId: string, query = '') => this.ask('DELETE', `uploads/${uploadId}${query}`);

  async usage(prefix = ''): Promise<z.output<typeof usageShape>> {
    const answer = await this.ask('GET', `files/usage?prefix=${encodeURIComponent(prefix)}`);
    return bodyOf(answer, 200, usageShape);
  }

  async counted() {
    const { usage } = await subscriptionOf(this.api, this.own.tenant, { query: '?refresh=true' });
    return usage;
  }

  /** Cancels what is under way. Then what counts is what the store has, to the byte. @returns it. */
  async atRest(): Promise<number> {
    for (const uploadId of this.#uploadIds)
      expect([202, 404]).toContain((await this.cancel(uploadId)).status);
    this.#uploadIds.clear();
    let storedBytes = 0;
    await expect
      .poll(
        async () => {
          const [listed, counted] = [await this.usage(), await this.counted()];
          storedBytes = listed.bytes;
          return {
            stored: (counted?.storedBytes ?? -1) - listed.bytes,
            committed: (counted?.committedBytes ?? -1) - listed.bytes,
            files: (counted?.objectCount ?? -1) - listed.fileCount,
          };
        },
        { timeout: 240_000, interval: 500 },
      )
      .toEqual({ stored: 0, committed: 0, files: 0 });
    return storedBytes;
  }
}
