import { createHash } from 'node:crypto';
import { rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CliError } from '../../../../../cli/errors.ts';
import { bytesOf } from '../../../../support/payload.ts';
import { useTempFolders } from '../../../../support/temp-folder.ts';
import { programForTest } from '../../harness.ts';
import { FakeChunks } from './fake-chunks.ts';

const tempFolder = useTempFolders();
const chunkBytes = 64 * 1024;
/** 20 chunks, the last one shorter. */
const bytes = bytesOf('a large file', 20 * chunkBytes - 1000);
const oidOf = (of: Uint8Array) => createHash('sha256').update(of).digest('hex');
const chunkOf = (chunk: number) => bytes.subarray(chunk * chunkBytes, (chunk + 1) * chunkBytes);
const all = Array.from({ length: 20 }, (_, chunk) => chunk);

interface Told {
  readonly event?: string;
  readonly oid?: string;
  readonly bytesSoFar?: number;
  readonly bytesSinceLast?: number;
  readonly error?: { readonly code: number; readonly message: string };
}

let server: FakeChunks;
let file: string;

beforeEach(async () => {
  file = path.join(tempFolder(), 'object');
  writeFileSync(file, bytes);
  server = await new FakeChunks({ oid: oidOf(bytes), size: bytes.length, chunkBytes }).start();
});
afterEach(() => server.close());

/** git-lfs beside an agent: it sends the next message once the last one is answered. */
class GitLfs {
  readonly told: Told[] = [];
  readonly sleeps: number[] = [];
  err = '';
  readonly ended: Promise<unknown>;
  readonly #input = new PassThrough();
  #answered: (told: Told) => void = () => undefined;
  #nowMs = 1_000_000;

  constructor() {
    const program = programForTest({
      input: this.#input,
      out: (text) => this.#read(text),
      err: (text) => {
        this.err += text;
      },
      nowMs: () => (this.#nowMs += 50),
      sleep: async (durationMs) => {
        this.sleeps.push(durationMs);
        await turn();
      },
    });
    this.ended = program.parseAsync(['agent'], { from: 'user' });
    this.ended.catch(() => undefined);
  }

  #read(text: string): void {
    expect(text).toMatch(/^\{.*\}\n$/);
    const told: Told = JSON.parse(text);
    this.told.push(told);
    if (told.event !== 'progress') this.#answered(told);
  }

  /** @returns the answer that isn't about progress. */
  ask(message: object): Promise<Told> {
    const answered = new Promise<Told>((resolve) => (this.#answered = resolve));
    this.say(message);
    return answered;
  }

  say(message: object | string): void {
    this.#input.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  }

  /** As when it's killed. */
  goAway(): void {
    this.#input.end();
  }

  init(operation = 'upload'): Promise<Told> {
    return this.ask({
      event: 'init',
      operation,
      remote: 'origin',
      concurrent: false,
      concurrenttransfers: 8,
    });
  }

  async push(message: object = {}): Promise<Told> {
    await this.init();
    const { action } = server;
    const upload = { event: 'upload', oid: oidOf(bytes), size: bytes.length, path: file, action };
    return this.ask({ ...upload, ...message });
  }

  get progress() {
    return this.told.filter(({ event }) => event === 'progress');
  }
}

const done = { event: 'complete', oid: oidOf(bytes) };
const failed = (message: string | RegExp) => ({
  ...done,
  error: { code: 1, message: typeof message === 'string' ? message : expect.stringMatching(message) },
});
const wrong = "The uploaded chunks aren't this file. Run git lfs fsck, then push again.";
const changed = 'The file is damaged, or changed while it was uploaded. Run git lfs fsck, then push again.';

describe('the protocol', () => {
  it('is answered as git-lfs expects it, and ends when git-lfs says so', async () => {
    const git = new GitLfs();
    expect(await git.init()).toEqual({});
    git.say({ event: 'terminate' });
    await git.ended;
    expect(git.told).toEqual([{}]);
  });

  it('refuses downloads', async () => {
    const { error } = await new GitLfs().init('download');
    expect(error?.message).toBe(
      'lfs-quota agent can only upload. Run in your clone: lfs-quota connect TENANT REPO',
    );
  });

  it.each([
    'no JSON',
    '{}',
    '{"event":"download","oid":"x"}',
    `{"event":"upload","oid":"../x","size":1,"path":"x","action":{"href":"http://127.0.0.1"}}`,
    `{"event":"upload","oid":"${'0'.repeat(64)}","size":-1,"path":"x","action":{"href":"http://127.0.0.1"}}`,
    `{"event":"upload","oid":"${'0'.repeat(64)}","size":1,"path":"x","action":null}`,
  ])('ends at %s', async (line) => {
    const git = new GitLfs();
    git.say(line);
    await expect(git.ended).rejects.toThrow(CliError);
    expect(git.told).toEqual([]);
  });

  it('ends with git-lfs in the middle of an upload, without a word', async () => {
    const git = new GitLfs();
    server.onRequest = (what) => {
      if (what === 'PUT 3') git.goAway();
      return what === 'PUT 3' ? { status: 503 } : undefined;
    };
    void git.push();
    await git.ended;
    expect(git.told.filter(({ event }) => event === 'complete')).toEqual([]);
    expect(server.state).toBe('open');
  });
});

describe('a small object', () => {
  /** At a URL that the store would sign. */
  const action = (of: Buffer) => ({
    href: `${server.url}/chunk/0?sha256=${oidOf(of)}&signature=secret`,
    header: { 'X-Amz-Checksum-SHA256': oidOf(of), 'Content-Type': 'text/plain' },
  });

  it.each([0, 1, 3_000_000])('of %i bytes is one PUT', async (size) => {
    const small = bytesOf('small', size);
    writeFileSync(file, small);
    const git = new GitLfs();
    const oid = oidOf(small);
    expect(await git.push({ oid, size, action: action(small) })).toEqual({ event: 'complete', oid });
    expect(server.chunks.get(0)?.equals(small)).toBe(true);
    expect(git.progress.at(-1)?.bytesSoFar).toBe(size === 0 ? undefined : size);
    expect(server.requests).toEqual(['PUT 0']);
  });

  it('is sent again after as long as the store asks for, and with honest progress', async () => {
    const answers: ReturnType<FakeChunks['onRequest']>[] = [
      { status: 503, headers: { 'retry-after': '7' } },
      'break off',
    ];
    server.onRequest = () => answers.shift();
    const git = new GitLfs();
    expect(await git.push({ action: action(bytes) })).toEqual(done);
    expect(git.sleeps).toEqual([7_000, 1_000]);
    expect(git.progress.at(-1)?.bytesSoFar).toBe(bytes.length);
    const sum = git.progress.reduce((all, { bytesSinceLast = 0 }) => all + bytesSinceLast, 0);
    expect(sum).toBe(bytes.length);
  });

  it('fails alone: the next one is asked for', async () => {
    server.onRequest = (what) => (what === 'PUT 0' ? { status: 403 } : undefined);
    const git = new GitLfs();
    const message = 'The store returned 403. Push again: it continues.';
    expect(await git.push({ action: action(bytes) })).toEqual(failed(message));
    server.onRequest = () => undefined;
    expect(await git.push({ action: action(bytes) })).toEqual(done);
    const unreadable = await git.push({ path: path.join(file, 'x'), action: action(bytes) });
    expect(unreadable.error?.message).toContain("Can't read");
  });

  it('that is damaged is never stored', async () => {
    const damaged = Buffer.from(bytes);
    damaged[100] = 1;
    writeFileSync(file, damaged);
    expect(await new GitLfs().push({ action: action(bytes) })).toEqual(failed(changed));
    truncateSync(file, 10);
    expect(await new GitLfs().push({ action: action(bytes) })).toEqual(failed(changed));
    expect(server.chunks.size).toBe(0);
  });
});

describe('a large object', () => {
  it('is uploaded in chunks, eight at a time, and is complete when the server has it', async () => {
    const git = new GitLfs();
    expect(await git.push()).toEqual(done);
    expect(server.object?.equals(bytes)).toBe(true);
    expect([...server.puts].sort((a, b) => a - b)).toEqual(all);
    expect(server.mostAtOnce).toBeLessThanOrEqual(8);
    expect(git.progress.at(-1)).toMatchObject({ oid: oidOf(bytes), bytesSoFar: bytes.length });
    git.say({ event: 'terminate' });
    await git.ended;
    expect(git.err).toBe('');
  });

  it('of one byte more than a chunk has two', async () => {
    const two = bytesOf('two', chunkBytes + 1);
    writeFileSync(file, two);
    await server.close();
    server = await new FakeChunks({ oid: oidOf(two), size: two.length, chunkBytes }).start();
    expect(await new GitLfs().push({ oid: oidOf(two), size: two.length })).toMatchObject({
      event: 'complete',
    });
    expect(server.object?.equals(two)).toBe(true);
  });

  it('goes on with what is stored, and hashes from what is proven', async () => {
    let state: string | undefined = '';
    for (const chunk of [0, 1, 2, 3, 4]) state = await server.hold(chunk, chunkOf(chunk), state);
    await server.hold(5, chunkOf(5));
    await server.hold(9, chunkOf(9));
    const git = new GitLfs();
    expect(await git.push()).toEqual(done);
    expect([...server.puts].sort((a, b) => a - b)).toEqual(all.filter((chunk) => chunk > 5 && chunk !== 9));
    expect(git.progress[0]?.bytesSoFar).toBe(7 * chunkBytes);
    expect(server.object?.equals(bytes)).toBe(true);
  });

  it('that is all there is only reported', async () => {
    for (const chunk of all) await server.hold(chunk, chunkOf(chunk));
    expect(await new GitLfs().push()).toEqual(done);
    expect(server.puts).toEqual([]);
    // And with another push, which is told that it's stored.
    expect(await new GitLfs().push()).toEqual(done);
    expect(server.requests.at(-1)).toBe('GET');
  });

  it('survives one failure of each request', async () => {
    const seen = new Set<string>();
    const lies = [{ status: 503, headers: { 'retry-after': '3' } }, 'break off', 'half'] as const;
    server.onRequest = (what) => {
      if (what.startsWith('PUT') && Number(what.slice(4)) % 3 !== 0) return undefined;
      if (seen.has(what)) return undefined;
      seen.add(what);
      const lie = lies[seen.size % lies.length];
      return what.startsWith('PUT') && lie === 'half' ? { status: 403 } : lie;
    };
    const git = new GitLfs();
    expect(await git.push()).toEqual(done);
    expect(server.object?.equals(bytes)).toBe(true);
    expect(git.sleeps).toContain(3_000);
    expect(git.progress.at(-1)?.bytesSoFar).toBe(bytes.length);
  });

  it('gets a URL of its own for each attempt', async () => {
    let [urls, refused] = [0, 0];
    server.urlOf = (href) => {
      urls += 1;
      return href;
    };
    server.onRequest = (what) => {
      if (what !== 'PUT 4' || refused > 0) return undefined;
      refused += 1;
      return { status: 403 };
    };
    expect(await new GitLfs().push()).toEqual(done);
    expect(urls).toBe(21);
  });

  it.each([
    [
      'nothing answers',
      'http://127.0.0.1:1/x?signature=secret',
      /^Chunk \d: The connection to the store failed/,
    ],
    ['there is none', undefined, /^Chunk \d: The server returned no URL\. Push again: it continues\.$/],
    ['is a file', 'file:///secret', /^Chunk \d: The server returned no HTTP address\./],
    ['is none', 'no URL', /^Chunk \d: The server returned no URL\. Push again: it continues\.$/],
  ])('fails if a URL is where %s', async (_, href, message) => {
    server.urlOf = () => href;
    const { error } = await new GitLfs().push();
    expect(error?.message).toMatch(message);
    expect(error?.message).not.toContain('secret');
  });

  it.each([
    [404, 'This upload expired. Push again: it continues where it was if it can.'],
    [422, 'The server returned 422. Update lfs-quota, then push again.'],
    [307, 'The server returned 307. Update lfs-quota, then push again.'],
    [503, 'The server returned 503. Push again: it continues.'],
  ])('fails with what to do if the server answers %i', async (status, message) => {
    let strangers = 0;
    const stranger = createServer({ keepAliveTimeout: 60_000 }, (_, response) => {
      strangers += 1;
      response.end();
    });
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    const location = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}/`;
    server.onRequest = () => ({ status, headers: { location } });
    expect(await new GitLfs().push()).toEqual(failed(message));
    stranger.close();
    expect(strangers).toBe(0);
  });

  it('takes no other protocol for an answer', async () => {
    server.onRequest = () => ({ status: 101, headers: { connection: 'upgrade', upgrade: 'tls' } });
    expect(await new GitLfs().push()).toEqual(
      failed('The server returned 101. Update lfs-quota, then push again.'),
    );
  });

  it.each([
    ['wrong', wrong],
    ['ended', 'This upload expired. Push again: it starts over.'],
  ] as const)('ends with what to do if it is %s', async (state, message) => {
    server.state = state;
    expect(await new GitLfs().push()).toEqual(failed(message));
    server.state = 'open';
    // And in the middle, when the server says so.
    server.onStored = () => {
      server.state = state;
    };
    expect(await new GitLfs().push()).toEqual(failed(message));
  });

  it('is complete if another push has finished it', async () => {
    server.onStored = () => {
      server.state = 'stored';
    };
    const git = new GitLfs();
    expect(await git.push()).toEqual(done);
    expect(git.progress.at(-1)?.bytesSoFar).toBe(bytes.length);
  });

  it('sends a chunk again that vanished, and reports again what the server lost', async () => {
    let isGone = false;
    server.onStored = (chunk) => {
      if (chunk === 7 && !isGone) isGone = server.chunks.delete(7);
    };
    server.lostReports.add(2);
    expect(await new GitLfs().push()).toEqual(done);
    expect(server.puts.filter((chunk) => chunk === 7)).toHaveLength(2);
    expect(server.puts).toHaveLength(21);
    expect(server.object?.equals(bytes)).toBe(true);
  });

  it.each([null, 'The store rejected GetObject with 403 AccessDenied'])(
    'leaves a server that says why it fails after a minute in vain, not after ten: %s',
    async (failure) => {
      server.failure = failure;
      server.onStored = (chunk) => {
        if (chunk === 7) server.chunks.delete(7);
      };
      const git = new GitLfs();
      const { error } = (await git.push()) as { error?: { message: string } };
      const waitedMs = git.sleeps.reduce((sum, ms) => sum + ms, 0);
      if (failure === null) expect(error?.message).toContain("doesn't put the chunks together");
      else expect(error?.message).toContain(`can't store this file: ${failure}. Ask its operator.`);
      expect(waitedMs > 300_000).toBe(failure === null);
    },
  );

  it('leaves a server that loses a chunk again and again, and asks it less and less in each minute', async () => {
    server.onStored = (chunk) => {
      if (chunk === 7) server.chunks.delete(7);
    };
    const git = new GitLfs();
    expect(await git.push()).toEqual(
      failed("The server doesn't put the chunks together. Push again: it continues."),
    );
    const next = git.sleeps.findIndex((ms, at) => ms < (git.sleeps[at - 1] ?? 0));
    const minute = git.sleeps.slice(0, next);
    expect(minute.slice(0, 9)).toEqual(Array(9).fill(500));
    expect(minute[9]).toBeGreaterThan(500);
    expect(minute.at(-1)).toBe(5_000);
    expect(minute.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThanOrEqual(60_000);
  });

  it('that changes on the way is never stored', async () => {
    server.onRequest = (what) => {
      if (what === 'PUT 2') writeFileSync(file, Buffer.alloc(bytes.length));
      return undefined;
    };
    expect(await new GitLfs().push()).toEqual(failed(changed));
    server.onRequest = () => undefined;
    expect(server.chunks.has(19)).toBe(false);
    expect(server.state).toBe('open');
    // What was damaged before, too: its chunks aren't those that were asked for.
    expect(await new GitLfs().push()).toEqual(failed(wrong));
    server.state = 'open';
    rmSync(file);
    expect((await new GitLfs().push()).error?.message).toContain("Can't read");
    expect(server.chunks.has(19)).toBe(false);
  });

  it('that shrinks on the way is never stored, whether it was hashed before or not', async () => {
    server.onRequest = (what) => {
      if (what === 'PUT 2') truncateSync(file, 10);
      return undefined;
    };
    expect(await new GitLfs().push()).toEqual(failed(changed));
    writeFileSync(file, bytes);
    server.onRequest = () => undefined;
    process.once('worker', () => truncateSync(file, 5 * chunkBytes));
    expect(await new GitLfs().push()).toEqual(failed(changed));
    expect(server.chunks.has(19)).toBe(false);
    expect(server.state).toBe('open');
  });

  it('that can be opened, and not read, says why', async () => {
    const folder = tempFolder();
    const { size } = statSync(folder);
    await server.close();
    server = await new FakeChunks({ oid: oidOf(bytes), size, chunkBytes }).start();
    expect(await new GitLfs().push({ path: folder, size })).toEqual(
      failed(`Can't read ${folder} (EISDIR). Fix that, then push again.`),
    );
  });

  it('fails alone if its thread dies: the next one gets another', async () => {
    process.once('worker', (thread: Worker) => void thread.terminate());
    const git = new GitLfs();
    const message = 'The thread that hashes the file ended. Push again: it continues.';
    expect(await git.push()).toEqual(failed(message));
    process.once('worker', (thread: Worker) => thread.emit('error', new Error('of its code')));
    expect(await git.push()).toEqual(failed(/^This is a bug in lfs-quota\./));
    expect(git.err).toContain('of its code');
    expect(await git.push()).toEqual(done);
  });

  it.each([1, 17])('that was damaged in chunk %i, and is right again, begins anew', async (chunk) => {
    const damaged = Buffer.from(bytes);
    damaged[chunk * chunkBytes + 5] = (bytes[chunk * chunkBytes + 5] ?? 0) ^ 1;
    writeFileSync(file, damaged);
    expect(await new GitLfs().push()).toEqual(failed(changed));
    expect(server.state).toBe('open');
    writeFileSync(file, bytes);
    expect(await new GitLfs().push()).toEqual(failed(wrong));
    // The next push gets a new upload.
    expect(server.state).toBe('wrong');
  });

  it.each([
    { chunkBytes: 100 },
    { chunkBytes: 64 },
    { size: 1 },
    { proven: { chunks: 21, sha256State: null } },
    { proven: { chunks: 3, sha256State: null } },
    { stored: [[0, 1e9]] },
    { stored: [[-1, 0]] },
    {
      unproven: [
        [0, 3],
        [3, 4],
      ],
    },
  ])('refuses a plan that fits no such file: %j', async (lie) => {
    const status = {
      state: 'open',
      size: bytes.length,
      chunkBytes,
      stored: [],
      proven: { chunks: 0, sha256State: null },
      unproven: [],
    };
    const liar = createServer({ keepAliveTimeout: 60_000 }, (_, response) =>
      response.end(JSON.stringify({ ...status, ...lie })),
    );
    await new Promise<void>((resolve) => liar.listen(0, '127.0.0.1', resolve));
    const href = server.action.href.replace(/:\d+/, `:${(liar.address() as AddressInfo).port}`);
    expect(await new GitLfs().push({ action: { href } })).toEqual(
      failed("The server's answer doesn't fit this file. Update lfs-quota, then push again."),
    );
    liar.close();
  });

  it('ends a server that answers without an end, and one whose headers are none', async () => {
    const endless = createServer({ keepAliveTimeout: 60_000 }, (_, response) => {
      const write = () => {
        while (response.write(Buffer.alloc(100_000, ' ')));
      };
      response.on('drain', write);
      write();
    });
    await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve));
    const href = server.action.href.replace(/:\d+/, `:${(endless.address() as AddressInfo).port}`);
    expect(await new GitLfs().push({ action: { href } })).toEqual(
      failed("The server's answer is too long. Push again: it continues."),
    );
    endless.closeAllConnections();
    endless.close();
    const git = new GitLfs();
    const { error } = await git.push({ action: { href, header: { a: 'secret\r\nhost: x' } } });
    expect(error?.message).toMatch(/^The server returned an invalid header\./);
    expect(git.err + error?.message).not.toContain('secret');
  });
});
