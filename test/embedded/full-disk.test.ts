import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { demoTokenIn, useChildStacks } from '../support/child-stack.ts';
import { pull, push, subscription } from '../support/lfs-client.ts';
import { useTempFolders } from '../support/temp-folder.ts';
import { StoreAccess } from './store-access.ts';

const tempFolder = useTempFolders();

const mounted: string[] = [];
afterEach(() => {
  for (const path of mounted.splice(0)) spawnSync('umount', ['--lazy', path]);
});

// After the hook above, so that its own runs before: what uses a disk ends before the disk.
const spawnStack = useChildStacks();

/** A small file system of its own. @returns undefined if this user may not mount one. */
function smallDisk(): string | undefined {
  const path = tempFolder();
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', path]);
  if (mount.status !== 0) return undefined;
  mounted.push(path);
  return path;
}

/** Takes up every byte that is free. */
function fill(file: string): void {
  const fd = openSync(file, 'a');
  try {
    for (let chunk = Buffer.alloc(1024 ** 2); chunk.length > 0; ) {
      try {
        if (writeSync(fd, chunk) < chunk.length) chunk = chunk.subarray(chunk.length >> 1);
      } catch {
        chunk = chunk.subarray(0, chunk.length >> 1);
      }
    }
  } finally {
    closeSync(fd);
  }
}

describe('npm start on a disk that fills up', () => {
  it('refuses with what to do, stays up, loses nothing, and works again once there is space', {
    timeout: 120_000,
  }, async (context) => {
    const disk = smallDisk();
    if (disk === undefined) return context.skip('Only root may mount a small disk.');
    const data = join(disk, 'data');
    const filler = join(disk, 'filler');
    const stack = spawnStack(['--port', '0', '--data', data]);
    const url = await stack.ready();
    const place = { url, token: demoTokenIn(data) };
    const stored = new Map<string, string>();
    let pushes = 0;
    const pushNext = async () => {
      pushes += 1;
      const content = `object ${pushes} ${'x'.repeat(20_000)}`;
      stored.set(await push(place, content), content);
    };
    const refusals = async () => {
      const found: string[] = [];
      for (let attempt = 0; attempt < 60; attempt += 1) {
        await pushNext().catch((error: Error) => found.push(error.message));
      }
      return found;
    };
    const diskState = async () => {
      const token = readFileSync(join(data, 'admin-token'), 'utf8').trim();
      const answer = await fetch(`${url}/v1/status`, { headers: { authorization: `Bearer ${token}` } });
      const { parts } = (await answer.json()) as { parts: { part: string; state: string }[] };
      return parts.find(({ part }) => part === 'disk')?.state;
    };
    for (let count = 0; count < 20; count += 1) await pushNext();
    // What doesn't fit is refused before it's sent, and the rest isn't.
    await expect(push(place, 'x'.repeat(63 * 1024 ** 2))).rejects.toThrow(/507.*The server's disk is full/);
    await pushNext();
    expect(await diskState()).toBe('fine');

    for (let round = 0; round < 3; round += 1) {
      fill(filler);
      const found = await refusals();
      expect(found.filter((message) => message.includes("The server's disk is full"))).toEqual(found);
      expect(found.find((message) => message.startsWith('batch: 503'))).toContain(
        'Ask its operator to free up space, then retry.',
      );
      expect(stack.process.exitCode).toBeNull();
      expect(await diskState()).toBe('act');
      // Downloads go on.
      const [oid = '', content = ''] = [...stored][0] ?? [];
      expect(await pull(place, { oid, size: content.length })).toBe(content);
      rmSync(filler);
      await sleep(1100);
      for (let count = 0; count < 5; count += 1) await pushNext();
      expect(await diskState()).toBe('fine');
    }
    const store = new StoreAccess({
      dataPath: data,
      storeUrl: /^object store (\S+)$/m.exec(stack.output.out)?.[1] ?? '',
    });
    const inStore = (await store.keys('demo/')).length;
    store.close();
    expect(inStore).toBeGreaterThanOrEqual(stored.size);
    const usage = async () => (await subscription(place)).usage?.objectCount;
    await vi.waitFor(async () => expect(await usage()).toBe(inStore), { timeout: 60_000, interval: 500 });

    // A kill on a full disk.
    fill(filler);
    await refusals();
    stack.process.kill('SIGKILL');
    await stack.ended();
    rmSync(filler);
    const next = spawnStack(['--port', '0', '--data', data]);
    place.url = await next.ready();
    for (const [oid, content] of stored)
      expect(await pull(place, { oid, size: content.length })).toBe(content);
    await pushNext();
    expect(next.output.err + stack.output.err).not.toContain('unexpected error');
  });
});
