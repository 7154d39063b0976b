import { mapLimited } from '../../lambda/core/rules/async.ts';
import type { ArchiveClient } from '../../lambda/core/store/archive-client.ts';
import { type ArchiveStore, UploadGoneError } from '../../lambda/core/store/rules/archive-store.ts';
import { createArchiveStore } from '../../lambda/core/store/s3-archives.ts';

/** Uploads of which the parts are listed, each by a request or more. */
const uploadsMax = 10_000;
const atOnce = 32;

/** What parts of uploads take up that nobody has completed or aborted. */
export interface Unfinished {
  readonly uploads: number;
  readonly bytes: bigint;
  /** False: there are more. */
  readonly isWhole: boolean;
  /** Requests that it took. */
  readonly requests: number;
}

/** @throws {StoreUnavailableError} @throws {StoreRefusedError} */
export async function countUnfinished(client: ArchiveClient, prefix: string): Promise<Unfinished> {
  const store = createArchiveStore({ client });
  const sum = { uploads: 0, bytes: 0n, isWhole: true, requests: 0 };
  for await (const page of store.uploads(prefix)) {
    sum.requests += 1;
    const listed = page.slice(0, uploadsMax - sum.uploads);
    const counted = await mapLimited(listed, atOnce, (upload) => countParts(store, upload));
    for (const { bytes, requests } of counted) {
      sum.bytes += bytes;
      sum.requests += requests;
    }
    sum.uploads += counted.filter(({ isGone }) => !isGone).length;
    sum.isWhole &&= listed.length === page.length;
    if (!sum.isWhole) break;
  }
  return sum;
}

async function countParts(store: ArchiveStore, upload: { key: string; uploadId: string }) {
  const sum = { bytes: 0n, requests: 0, isGone: false };
  try {
    for await (const parts of store.parts(upload)) {
      sum.requests += 1;
      for (const { sizeBytes } of parts) sum.bytes += BigInt(sizeBytes);
    }
    return sum;
  } catch (error) {
    // It was completed or aborted meanwhile.
    if (error instanceof UploadGoneError) return { bytes: 0n, requests: 1, isGone: true };
    throw error;
  }
}
