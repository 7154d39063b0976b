import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { z } from 'zod';
import type { Stack } from './stack.ts';

/** An object in the store. */
export interface Stored {
  readonly sizeBytes: number;
  readonly modifiedAtMs: number;
}

const credentialsShape = z.object({ accessKeyId: z.string(), secretAccessKey: z.string() });

/** A client of the store itself, which bypasses lfs-quota. */
export async function storeClient(stack: Stack): Promise<S3Client> {
  const kept = await readFile(join(stack.dataDir, 'store-credentials.json'), 'utf8');
  return new S3Client({
    region: 'us-east-1',
    endpoint: stack.storeUrl(),
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    credentials: credentialsShape.parse(JSON.parse(kept)),
  });
}

/** Puts objects below `tenant/repo/` into the store, as an import does. */
export async function importInto(
  stack: Stack,
  path: string,
  objects: ReadonlyMap<string, Buffer>,
): Promise<void> {
  const client = await storeClient(stack);
  try {
    for (const [oid, bytes] of objects) {
      await client.send(new PutObjectCommand({ Bucket: '_objects', Key: `${path}/${oid}`, Body: bytes }));
    }
  } finally {
    client.destroy();
  }
}

/** oid → object, for all objects below `tenant/repo/` in the store. */
export async function listStore(stack: Stack, path: string): Promise<Map<string, Stored>> {
  const client = await storeClient(stack);
  const found = new Map<string, Stored>();
  const prefix = `${path}/`;
  try {
    for await (const page of paginateListObjectsV2({ client }, { Bucket: '_objects', Prefix: prefix })) {
      for (const { Key = '', Size = 0, LastModified } of page.Contents ?? []) {
        const modifiedAtMs = LastModified?.getTime() ?? 0;
        found.set(Key.slice(prefix.length), { sizeBytes: Size, modifiedAtMs });
      }
    }
  } finally {
    client.destroy();
  }
  return found;
}

/** oid → bytes. */
export function sizesOf(stored: ReadonlyMap<string, Stored>): Map<string, number> {
  return new Map([...stored].map(([oid, { sizeBytes }]) => [oid, sizeBytes]));
}

/** The sum of all sizes. */
export function totalBytes(sizes: ReadonlyMap<string, number>): number {
  return [...sizes.values()].reduce((sum, sizeBytes) => sum + sizeBytes, 0);
}

const usageShape = z.object({
  usage: z.object({ storedBytes: z.number(), objectCount: z.number() }).nullable(),
});

/**
 * Asks for the tenant's usage until it is as expected, or the time is up.
 *
 * @returns the last answer.
 */
export async function usageWithin(
  stack: Stack,
  input: { tenant: string; expected: { storedBytes: number; objectCount: number }; timeoutMs: number },
): Promise<{ storedBytes: number; objectCount: number } | null> {
  const giveUpAtMs = performance.now() + input.timeoutMs;
  for (;;) {
    const response = await fetch(`${stack.url}/v1/tenants/${input.tenant}/subscription`, {
      headers: { authorization: `Bearer ${stack.adminToken}` },
    });
    const { usage } = usageShape.parse(await response.json());
    const { storedBytes, objectCount } = input.expected;
    const isEqual = usage?.storedBytes === storedBytes && usage.objectCount === objectCount;
    if (isEqual || performance.now() > giveUpAtMs) return usage;
    await sleep(250);
  }
}
