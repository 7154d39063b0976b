import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { demoTokenIn, npmStart } from '../support/child-stack.ts';
import { push } from '../support/lfs-client.ts';
import { describeTraced, traceOf } from '../support/strace.ts';
import { useTempFolders } from '../support/temp-folder.ts';

const tempFolder = useTempFolders();

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** `npm start`, with a trace of what it reads, syncs and answers. */
async function startTraced(data: string) {
  const trace = join(tempFolder(), 'trace');
  const program = [...npmStart, '--port', '0', '--data', data];
  const calls = ['read', 'write', 'writev', 'fsync', 'fdatasync'];
  const strace = spawn('strace', traceOf({ file: trace, calls, program, shownBytes: 60 }), {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(strace, 'exit');
  const end = async () => {
    const lock = join(data, 'lock');
    // The stack, not strace: that would let it go.
    if (existsSync(lock)) process.kill(JSON.parse(readFileSync(lock, 'utf8')).pid, 'SIGTERM');
    await ended;
  };
  ends.push(end);
  let out = '';
  for await (const chunk of strace.stdout) {
    out += String(chunk);
    const url = /^ready (http:\S+)$/m.exec(out)?.[1];
    if (url !== undefined) return { url, end, lines: () => readFileSync(trace, 'utf8').split('\n') };
  }
  throw new Error(`It ended before it was ready: ${out}`);
}

describeTraced('npm start', () => {
  it('answers nothing that it has not synced', { timeout: 180_000 }, async () => {
    const parent = tempFolder();
    const data = join(parent, 'data');
    const { url, end, lines } = await startTraced(data);
    const place = { url, token: demoTokenIn(data) };
    const pushes = 5;
    for (let number = 0; number < pushes; number += 1) await push(place, `object ${number}`);
    await end();

    // Where each new folder is noted.
    for (const folder of [parent, data, join(data, 'store'), join(data, 'store', 'objects')])
      expect(lines().some((line) => /fsync\(\d+<(.*?)>/.exec(line)?.[1] === folder)).toBe(true);

    /** Of each request in turn, what was synced between its arrival and its answer. */
    const answers: { request: string; synced: string[] }[] = [];
    /** What a thread is syncing. */
    const syncing = new Map<string, string>();
    let request: string | undefined;
    let synced: string[] = [];
    for (const line of lines()) {
      const thread = line.split(' ')[0] ?? '';
      const begun = /(?:fsync|fdatasync)\(\d+<(.*?)>/.exec(line)?.[1];
      if (begun !== undefined) syncing.set(thread, begun);
      if (/sync(\(.*\)| resumed.*\)) += 0$/.test(line)) synced.push(syncing.get(thread) ?? '');
      // A call during which another thread's ended has two lines.
      const asked = /read(?:\(\d+<.*>,| resumed>) ?"(POST|PUT) (\S+)/.exec(line);
      if (asked) [request, synced] = [`${asked[1]} ${asked[2]?.replace(/[?].*/, '')}`, []];
      if (request !== undefined && /writev?\(.*"HTTP\/1\.1 200/.test(line)) {
        answers.push({ request, synced });
        request = undefined;
      }
    }
    const ofTable = ({ synced: files }: { synced: readonly string[] }) =>
      files.filter((file) => /\/table\/\d+\.log$/.test(file)).length;
    const batches = answers.filter((answer) => answer.request.endsWith('/objects/batch'));
    expect(batches.length).toBe(pushes);
    // The quota, the reservation, and that its URLs are issued.
    for (const batch of batches) expect(ofTable(batch)).toBeGreaterThanOrEqual(3);
  });
});
