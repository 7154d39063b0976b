import { createHash } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bucket, StoreFixture } from '../../../support/store-fixture.ts';
import { spawnStore, trySend } from './spawned-store.ts';

/** The bytes of upload number `index`: of many sizes, and computed from the number alone. */
function bytesOf(index: number): Buffer {
  return Buffer.alloc(1 + ((index * 7919) % 200_000), createHash('md5').update(String(index)).digest());
}

async function upload(url: string, index: number): Promise<boolean> {
  const answer = await trySend(url, { method: 'PUT', path: `/${bucket}/k${index}`, body: bytesOf(index) });
  return answer?.status === 200;
}

test('an acknowledged object survives a kill, and any other is complete or absent', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'store-kill-'));
  const acknowledged = new Set<number>();
  let next = 0;
  for (const killAfter of [20, 45]) {
    const { child, url } = await spawnStore(dataDir);
    onTestFinished(() => void child.kill('SIGKILL'));
    const worker = async () => {
      while (child.exitCode === null && child.signalCode === null) {
        const index = next;
        next += 1;
        if (await upload(url, index)) acknowledged.add(index);
        if (acknowledged.size >= killAfter) child.kill('SIGKILL');
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
  }
  expect(acknowledged.size).toBeGreaterThanOrEqual(45);

  const store = await StoreFixture.start({ dataDir });
  try {
    expect(await store.uploadsLeft()).toEqual([]);
    for (let index = 0; index < next; index += 1) {
      const answer = await store.send({ method: 'GET', path: `/${bucket}/k${index}` });
      if (acknowledged.has(index)) expect(answer.status).toBe(200);
      if (answer.status === 200) expect(answer.body.equals(bytesOf(index))).toBe(true);
      else expect(answer.status).toBe(404);
    }
  } finally {
    await store.stop();
  }
});
