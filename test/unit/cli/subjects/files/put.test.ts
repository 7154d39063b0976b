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

/**
 * @param says what the API answers, and the store: 'broken' ends the connection. The last for all that follow. `onPut`: when a PUT
 * arrives.
 */
async function put(says: {
  api: readonly Answer[];
  store: readonly (Answer | 'broken')[];
  onPut?: (file: string) => void;
}) {
  const asked: { key: string | undefined; body: unknown; line: string }[] = [];
  const stored: string[] = [];
  const paused: number[] = [];
  let puts = 0;
  let version = '';
  const file = join(tempFolder(), 'a.txt');
  writeFileSync(file, content);
  server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    const body = await bodyOf(request);
    const isApi = request.method !== 'PUT';
    const line = `${request.method} ${request.url?.replace('/v1/tenants/acme/repos/media/', '')}`;
    const key = request.headers['idempotency-key']?.toString();
    if (isApi) asked.push({ key, body: body === '' ? undefined : JSON.parse(body), line });
    else says.onPut?.(file);
    version = /"version":"([^"]*)"/.exec(body)?.[1] ?? version;
    if (!isApi) puts += 1;
    const answers = isApi ? says.api : says.store;
    const answer = answers[Math.min(isApi ? asked.length : puts, answers.length) - 1] ?? 'broken';
    if (answer === 'broken') return request.socket.destroy();
    if (!isApi && answer.status === 200) stored.push(body);
    const text = JSON.stringify(answer.body ?? '')
      .replaceAll('http://STORE', url)
      .replace('VERSION', version);
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers }).end(text);
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
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
      files: [{ name: 'a.txt', bytes: content.length, sha256, inParts: true, version: expect.any(String) }],
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
    expect(err).toMatch(
      /a\.txt: a file of 5 B is a\.txt already, not known to be the same\nA stored file never changes/,
    );
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

describe('files put of a file in parts', () => {
  const uploadId = '0'.repeat(32);
  const bytesOf = [8, 8, content.length - 16];
  /** @param stored numbers of those that are there. */
  const parts = (stored: readonly number[], more: object = {}) =>
    said({
      state: 'upload',
      uploadId,
      startedAt: '2001-01-01T00:00:00Z',
      version: 'VERSION',
      parts: bytesOf.map((bytes, at) => ({
        number: at + 1,
        bytes,
        ...(stored.includes(at + 1) ? { stored: true } : { url: `http://STORE/${at + 1}`, headers: {} }),
      })),
      ...more,
    });
  const confirmed = { status: 200, body: { name: 'a.txt', bytes: content.length } };
  const canceled = { status: 202, body: { uploadId, fileCount: 1, bytes: content.length } };
  const cancels = `DELETE uploads/${uploadId}?name=a.txt`;
  const linesOf = ({ asked }: Awaited<ReturnType<typeof put>>) => asked.map(({ line }) => line);
  const why = ({ out }: { out: string }) => (JSON.parse(out) as { files: { why?: string }[] }).files[0]?.why;

  it('sends each, and has them made the file', async () => {
    const result = await put({ api: [parts([]), confirmed], store: [done] });
    expect([result.code, stateIn(result.out)]).toEqual([0, 'uploaded']);
    expect(linesOf(result)).toEqual(['POST uploads', `POST uploads/${uploadId}`]);
    expect(result.asked[1]?.body).toEqual({ name: 'a.txt' });
    expect(result.stored.toSorted()).toEqual(
      [content.slice(0, 8), content.slice(8, 16), content.slice(16)].toSorted(),
    );
  });

  it('asks on while the store joins the parts, and not for ever', async () => {
    const busy = Array.from({ length: 7 }, () => problem(503, 'storage-unavailable'));
    const late = await put({ api: [parts([1, 3]), ...busy, confirmed], store: [done] });
    expect([late.code, stateIn(late.out), late.asked.length]).toEqual([0, 'uploaded', 9]);
    const never = await put({ api: [parts([1, 3]), problem(503, 'storage-unavailable')], store: [done] });
    expect([never.code, never.asked.length]).toEqual([6, 13]);
  });

  it('sends what is missing, and a part that broke off again', async () => {
    const result = await put({ api: [parts([1, 3]), confirmed], store: ['broken', { status: 503 }, done] });
    expect([result.code, result.stored, result.puts]).toEqual([0, [content.slice(8, 16)], 3]);
  });

  it('asks for URLs again that have expired', async () => {
    const result = await put({
      api: [parts([1, 3]), parts([1, 3]), confirmed],
      store: [{ status: 403 }, done],
    });
    expect([result.code, result.stored]).toEqual([0, [content.slice(8, 16)]]);
    expect(linesOf(result)).toEqual(['POST uploads', 'POST uploads', `POST uploads/${uploadId}`]);
  });

  it('keeps it to be continued if the server misses a part by now', async () => {
    const result = await put({
      api: [parts([1, 3]), problem(409, 'parts-missing'), parts([1, 3])],
      store: [done],
    });
    expect([result.code, result.puts, linesOf(result).length]).toEqual([1, 1, 3]);
    expect(result.err).toContain('continues with what is missing');
  });

  it('says that another file was faster', async () => {
    const taken = said({ state: 'name-taken', storedBytes: 5 });
    const result = await put({ api: [parts([1, 3]), problem(409, 'name-taken'), taken], store: [done] });
    expect([result.code, stateIn(result.out)]).toEqual([5, 'name-taken']);
  });

  it('cancels what the store refuses twice', async () => {
    const result = await put({ api: [parts([1, 3]), parts([1, 3]), canceled], store: [{ status: 403 }] });
    expect([result.code, result.puts, linesOf(result).at(-1)]).toEqual([1, 2, cancels]);
    expect(why(result)).toContain('The store returned 403. Its upload is canceled');
  });

  it('cancels the upload of a file that changes', async () => {
    const onPut = (file: string) => writeFileSync(file, content.toUpperCase());
    const result = await put({ api: [parts([1, 3]), canceled], store: [done], onPut });
    expect([result.code, linesOf(result)]).toEqual([1, ['POST uploads', cancels]]);
    expect(why(result)).toContain('It changed while it was uploaded. Its upload is canceled');
  });

  it('cancels an upload of what the file was before', async () => {
    const result = await put({ api: [parts([2], { version: 'VERSION0' }), canceled], store: [done] });
    expect([result.code, result.puts, linesOf(result).at(-1)]).toEqual([1, 0, cancels]);
  });

  it.each(['of another 1', undefined])(
    'leaves an upload alone that is another file, also if it begins while the own one is sent',
    async (version) => {
      const another = parts([1], { version });
      const result = await put({ api: [another], store: [done] });
      expect([result.code, result.puts, linesOf(result)]).toEqual([1, 0, ['POST uploads']]);
      expect(why(result)).toContain('Another file is being uploaded as a.txt.');
      const late = await put({ api: [parts([1, 3]), another, canceled], store: [{ status: 403 }] });
      expect([late.code, late.puts]).toEqual([1, 1]);
    },
  );

  it('keeps it to be continued if the store is out of reach', async () => {
    const result = await put({ api: [parts([1, 3])], store: ['broken'] });
    expect([result.code, result.puts, linesOf(result)]).toEqual([1, 6, ['POST uploads']]);
    expect(result.err).toContain('continues with what is missing');
  });
});
