import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { useTempFolders } from '../../../../support/temp-folder.ts';
import { cli } from '../../harness.ts';

/** `files put` with a server and a store that answer as they're told. */

const tempFolder = useTempFolders();
const content = 'the bytes of a file';
const sha256 = createHash('sha256').update(content).digest('hex');

type Answer = { readonly status: number; readonly body?: unknown; readonly headers?: Record<string, string> };

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request) text += String(piece);
  return text;
}

/** @param says what the API answers, and the store: 'broken' ends the connection. The last for all that follow. */
async function put(says: { api: readonly Answer[]; store: readonly (Answer | 'broken')[] }) {
  const asked: { key: string | undefined; body: unknown }[] = [];
  const stored: string[] = [];
  const paused: number[] = [];
  let puts = 0;
  server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    const body = await bodyOf(request);
    const isApi = request.method === 'POST';
    if (isApi) asked.push({ key: request.headers['idempotency-key']?.toString(), body: JSON.parse(body) });
    else puts += 1;
    const answers = isApi ? says.api : says.store;
    const answer = answers[Math.min(isApi ? asked.length : puts, answers.length) - 1] ?? 'broken';
    if (answer === 'broken') return request.socket.destroy();
    if (!isApi && answer.status === 200) stored.push(body);
    const text = JSON.stringify(answer.body ?? '').replaceAll('http://STORE', url);
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers }).end(text);
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const file = join(tempFolder(), 'a.txt');
  writeFileSync(file, content);
  const result = await cli(['files', 'put', file, '--tenant', 'acme', '--repo', 'media', '--json'], {
    env: { LFS_QUOTA_URL: url, LFS_QUOTA_TOKEN: 'x' },
    sleep: async (...args: number[]) => void paused.push(...args),
  });
  return { ...result, asked, stored, puts, paused };
}

const said = (upload: object): Answer => ({
  status: 200,
  body: { uploads: [{ name: 'a.txt', ...upload }], uploadId: null, allUpload: true },
});
const upload = said({ state: 'upload', url: 'http://STORE/a', headers: { 'If-None-Match': '*' } });
const problem = (status: number, code: string): Answer => ({
  status,
  body: { code, detail: 'It is so.' },
  headers: { 'retry-after': '7' },
});
const done = { status: 200 };
const stateIn = (out: string) => (JSON.parse(out) as { files: { state: string }[] }).files[0]?.state;

describe('files put', () => {
  it('waits while usage is checked, as long as the server says, and asks by the same key', async () => {
    const { code, out, asked, stored, paused } = await put({
      api: [problem(429, 'usage-checking'), problem(503, 'storage-unavailable'), upload],
      store: [done],
    });
    expect([code, stateIn(out)]).toEqual([0, 'uploaded']);
    expect(asked[0]?.body).toEqual({
      files: [{ name: 'a.txt', bytes: content.length, sha256 }],
      lifetimeSeconds: 1800,
    });
    expect(new Set(asked.map(({ key }) => key)).size).toBe(1);
    expect(paused).toEqual([7000, 7000]);
    expect(stored).toEqual([content]);
  });

  it('uses a URL again whose PUT broke off or was answered by 503: another one would reserve as much', async () => {
    const { code, asked, stored, puts } = await put({
      api: [upload],
      store: ['broken', { status: 503 }, done],
    });
    expect([code, asked.length, puts]).toEqual([0, 1, 3]);
    expect(stored).toEqual([content]);
  });

  it('asks again once a URL was refused, and then knows that the file has arrived', async () => {
    const { code, out, asked, puts } = await put({
      api: [upload, said({ state: 'stored' })],
      store: ['broken', { status: 412 }],
    });
    expect([code, stateIn(out), puts]).toEqual([0, 'stored', 2]);
    expect(new Set(asked.map(({ key }) => key)).size).toBe(2);
  });

  it('says that another file was faster', async () => {
    const { code, err } = await put({
      api: [upload, said({ state: 'name-taken', storedBytes: 5 })],
      store: [{ status: 412 }],
    });
    expect(code).toBe(5);
    expect(err).toMatch(/a\.txt: another file, of 5 B, is a\.txt already\nA stored file never changes/);
  });

  it('gives up what is refused twice, and says so', async () => {
    const { code, out, err, puts } = await put({ api: [upload], store: [{ status: 403 }] });
    expect([code, stateIn(out), puts]).toEqual([1, 'failed', 2]);
    expect(err).toContain('a.txt: The store returned 403.');
  });

  it('says how to continue when the server stays busy', async () => {
    const { code, err, asked } = await put({ api: [problem(429, 'usage-checking')], store: [] });
    expect([code, asked.length]).toEqual([6, 6]);
    expect(err).toContain('continues with what is missing');
  });

  it('says what a full disk has', async () => {
    const { code, err } = await put({ api: [said({ state: 'no-space', freeBytes: 1024 })], store: [] });
    expect(code).toBe(5);
    expect(err).toContain("a.txt: the server's disk has 1 KiB free for uploads");
  });
});
