import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { uploadInChunks } from '../../../../../cli/subjects/chunks/upload.ts';
import { bytesOf } from '../../../../support/payload.ts';
import { useTempFolders } from '../../../../support/temp-folder.ts';
import { FakeChunks } from './fake-chunks.ts';

const tempFolder = useTempFolders();
const chunkBytes = 64;
/** Four chunks, the last one shorter. */
const bytes = bytesOf('a large file', 4 * chunkBytes - 7);
const oid = createHash('sha256').update(bytes).digest('hex');

let server: FakeChunks;
/** What was told of the progress, summed up after each time. */
let shown: number[];

beforeEach(async () => {
  shown = [0];
  server = await new FakeChunks({ oid, size: bytes.length, chunkBytes }).start();
});
afterEach(() => server.close());

async function upload(): Promise<void> {
  const file = path.join(tempFolder(), 'object');
  writeFileSync(file, bytes);
  const deps = { stop: new AbortController().signal, sleep: async () => void (await turn()) };
  await uploadInChunks(deps, {
    action: { ...server.action, expires_in: undefined },
    object: { oid, sizeBytes: bytes.length },
    path: file,
    onBytes: (more) => void shown.push((shown.at(-1) ?? 0) + more),
  });
}

it('shows what is stored as it is stored, not only at the end, and takes back what is sent again', async () => {
  await server.hold(0, bytes.subarray(0, chunkBytes));
  const fails = new Set(['PUT 1', 'PUT 3']);
  let beforeTheEnd: number | undefined;
  server.onRequest = (what) => {
    // All chunks are reported, and the server puts them together.
    if (what === 'POST' && server.chunks.size === 4) beforeTheEnd = shown.at(-1);
    return fails.delete(what) ? { status: 503 } : undefined;
  };
  await upload();
  expect(server.puts).toHaveLength(5);
  expect(shown[1]).toBe(chunkBytes);
  expect(beforeTheEnd).toBe(bytes.length);
  expect(new Set(shown).size).toBeGreaterThan(4);
  expect(shown.some((sum, at) => sum < (shown[at - 1] ?? 0))).toBe(true);
  expect([Math.max(...shown), shown.at(-1)]).toEqual([bytes.length, bytes.length]);
});

it('waits for ten quiet minutes in a row at most, however many there are in all', async () => {
  let [minute, proven, since] = [0, 0, 0];
  // It loses what it's told of the last two chunks, for six minutes each.
  server.onRequest = (what) => {
    if (what === 'GET') minute += 1;
    if (server.proofs.size > proven) [proven, since] = [server.proofs.size, minute];
    for (const chunk of [2, 3])
      if (chunk > proven || minute - since <= 5) server.lostReports.add(chunk);
      else server.lostReports.delete(chunk);
    return undefined;
  };
  await upload();
  expect(minute).toBeGreaterThan(11);
  expect(server.object?.equals(bytes)).toBe(true);
  expect(server.puts).toHaveLength(4);
});
