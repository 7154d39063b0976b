import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PutObjectCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import * as z from 'zod';

const credentialsShape = z.object({ accessKeyId: z.string(), secretAccessKey: z.string() });
const Bucket = '_objects';

/** Direct access to the embedded store, which bypasses lfs-quota. */
export class StoreAccess {
  readonly #client: S3Client;

  constructor(stack: { readonly dataPath: string; readonly storeUrl: string }) {
    const kept = readFileSync(join(stack.dataPath, 'store-credentials.json'), 'utf8');
    this.#client = new S3Client({
      region: 'us-east-1',
      endpoint: stack.storeUrl,
      forcePathStyle: true,
      requestChecksumCalculation: 'WHEN_REQUIRED',
      credentials: credentialsShape.parse(JSON.parse(kept)),
    });
  }

  async put(key: string, content: Buffer): Promise<void> {
    await this.#client.send(new PutObjectCommand({ Bucket, Key: key, Body: content }));
  }

  async keys(prefix: string): Promise<string[]> {
    const found: string[] = [];
    for await (const page of paginateListObjectsV2({ client: this.#client }, { Bucket, Prefix: prefix }))
      found.push(...(page.Contents ?? []).map(({ Key = '' }) => Key));
    return found;
  }

  close(): void {
    this.#client.destroy();
  }
}
