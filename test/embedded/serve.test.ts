import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { startStore } from '../../local/store/start-store.ts';
import { serve, useChildStacks } from '../support/child-stack.ts';
import { pull, push } from '../support/lfs-client.ts';
import { useTempFolders } from '../support/temp-folder.ts';

const tempFolder = useTempFolders();
const spawnServer = useChildStacks(serve);
const adminToken = 'admin-token-of-the-serve-tests-0123456789';
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A reverse proxy that says who asked, and calls the server by its own name. */
async function openProxy() {
  let target = 0;
  const server: Server = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
    const forwarded = [incoming.headers['x-forwarded-for'], incoming.socket.remoteAddress];
    const headers = {
      ...incoming.headers,
      host: 'backend',
      'x-forwarded-for': forwarded.filter(Boolean).join(', '),
    };
    const { method, url: path } = incoming;
    const onward = request(
      { host: '127.0.0.1', port: target, method, path, headers },
      (answer: IncomingMessage) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closing.push(async () => {
    server.closeAllConnections();
    await once(server.close(), 'close');
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    leadTo: (port: number) => {
      target = port;
    },
  };
}

async function startServer(
  proxy: Awaited<ReturnType<typeof openProxy>>,
  data: string,
  { flags = [], env = {} }: { flags?: readonly string[]; env?: Record<string, string> } = {},
) {
  const place = ['--listen', '127.0.0.1:0', '--data', data, '--public-url', proxy.url];
  const server = spawnServer([...place, '--trust-proxy', '127.0.0.1', ...flags], {
    LFS_QUOTA_ADMIN_TOKEN: adminToken,
    ...env,
  });
  expect(await server.ready()).toBe(proxy.url);
  proxy.leadTo(Number(/^listening on port (\d+)$/m.exec(server.output.out)?.[1]));
  return server;
}

interface Action {
  readonly href: string;
  readonly header?: Record<string, string>;
}

/** Asks the server itself, with the name that a proxy would pass on. */
async function send(
  port: number,
  host: string,
  path: string,
  { method = 'GET', headers = {}, body = '' }: { method?: string; headers?: object | ''; body?: string } = {},
) {
  const length = body && { 'content-length': String(body.length) };
  const asked = request({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers: { ...(headers || {}), ...length, host },
  });
  asked.end(body);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  return { status: answer.statusCode, headers: answer.headers, body: text };
}

async function manage(url: string, path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await fetch(`${url}/v1/tenants${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}

async function newPlace(url: string) {
  await manage(url, '', { tenant: 'demo', limitBytes: 1_000_000 });
  const { token } = await manage(url, '/demo/tokens', { scope: 'write' });
  return { url, token: String(token) };
}

describe('a server behind a proxy', () => {
  it('stores on its own disk, below its one public name, and ends by SIGTERM without losing anything', async () => {
    const proxy = await openProxy();
    const data = tempFolder();
    const first = await startServer(proxy, data);
    const place = await newPlace(proxy.url);
    const content = 'a large file';
    const oid = await push(place, content);
    expect(await pull(place, { oid, size: content.length })).toBe(content);
    expect(await (await fetch(proxy.url)).text()).toContain('<!doctype html>');

    first.process.kill('SIGTERM');
    expect(await first.ended()).toEqual({ exitCode: 0, signal: null });
    expect(first.output.err).not.toContain('"level":"error"');
    await startServer(proxy, data);
    expect(await pull(place, { oid, size: content.length })).toBe(content);
  });

  it('serves objects by a presigned URL alone, whatever else a client sends to it', async () => {
    const proxy = await openProxy();
    await startServer(proxy, tempFolder());
    const { token } = await newPlace(proxy.url);
    const oid = 'a'.repeat(64);
    const answer = await fetch(`${proxy.url}/demo/art.git/info/lfs/objects/batch`, {
      method: 'POST',
      headers: {
        accept: 'application/vnd.git-lfs+json',
        'content-type': 'application/vnd.git-lfs+json',
        authorization: `Bearer ${token}`,
      },
      body: JSON.stringify({ operation: 'upload', transfers: ['basic'], objects: [{ oid, size: 3 }] }),
    });
    const { objects } = (await answer.json()) as {
      objects: [{ actions: { upload: { href: string; header: Record<string, string> } } }];
    };
    const { href, header } = objects[0].actions.upload;
    expect(new URL(href).origin).toBe(proxy.url);
    const unsigned = new URL(href).pathname;
    for (const [path, headers] of [
      [unsigned, {}],
      [unsigned, { authorization: `Bearer ${adminToken}` }],
      ['/_objects/', {}],
      ['/_objects/?list-type=2', {}],
    ] as const)
      expect((await fetch(`${proxy.url}${path}`, { headers })).status).toBe(403);
    // Git adds the credentials that it has for this server. The bytes are others than the name says.
    const headers = { ...header, authorization: `Bearer ${token}` };
    expect((await fetch(href, { method: 'PUT', headers, body: 'abc' })).status).toBe(400);
  });

  it("has links of the name and path that was requested, and of no name that it isn't given", async () => {
    const proxy = await openProxy();
    const second = 'https://git.example.org/lfs';
    const server = await startServer(proxy, tempFolder(), { flags: ['--public-url', second] });
    const port = Number(/^listening on port (\d+)$/m.exec(server.output.out)?.[1]);
    const { token } = await newPlace(proxy.url);
    const first = new URL(proxy.url).host;
    const batch = async (host: string, path: string, operation: string, content: string) => {
      const oid = createHash('sha256').update(content).digest('hex');
      const { body } = await send(port, host, `${path}/demo/art/info/lfs/objects/batch`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'application/vnd.git-lfs+json',
          'content-type': 'application/vnd.git-lfs+json',
          'x-forwarded-host': 'evil.example',
        },
        body: JSON.stringify({ operation, objects: [{ oid, size: content.length }] }),
      });
      return JSON.parse(body).objects[0].actions as Record<string, Action>;
    };
    const follow = (action: Action | undefined, host: string, more: object) => {
      const { pathname, search } = new URL(action?.href ?? '');
      return send(port, host, pathname + search, { headers: { ...action?.header }, ...more });
    };
    for (const [host, path, base] of [
      ['git.example.org', '/lfs', second],
      ['git.example.org:443', '/lfs', second],
      ['git.example.org', '', second],
      [first, '', proxy.url],
      ['evil.example', '', proxy.url],
      ['git.example.org.evil.example', '', proxy.url],
    ] as const) {
      const content = `by ${host}${path}`;
      const { upload, verify } = await batch(host, path, 'upload', content);
      expect(upload?.href.startsWith(`${base}/_objects/demo/art/`)).toBe(true);
      expect(verify?.href).toBe(`${base}/demo/art.git/info/lfs/verify`);
      expect(await follow(upload, host, { method: 'PUT', body: content })).toMatchObject({ status: 200 });
      // The signature is for the server, whichever of its names a URL has.
      const { download } = await batch(host, path, 'download', content);
      for (const by of base === second ? [host] : [host, first, 'git.example.org'])
        expect(await follow(download, by, {})).toMatchObject({ status: 200, body: content });
    }
    for (const [host, path] of [
      ['git.example.org', '/lfs'],
      [first, ''],
    ] as const)
      for (const place of [path, `${path}/`, `${path}/sign-in/github`]) {
        const page = await send(port, host, place, { headers: path && { 'accept-encoding': 'br' } });
        const assets = [...page.body.matchAll(/(?:href|src)="(\/[^"]+)"/g)].map(([, asset = '']) => asset);
        expect(assets.length).toBeGreaterThan(2);
        for (const asset of assets) {
          expect(asset.startsWith(`${path}/assets/`)).toBe(true);
          expect((await send(port, host, asset)).status).toBe(200);
        }
        const { etag = '' } = page.headers;
        expect((await send(port, host, place, { headers: { 'if-none-match': etag } })).status).toBe(304);
      }
    const described = await send(port, 'git.example.org', '/lfs/openapi.json');
    expect(JSON.parse(described.body).servers).toMatchObject([{ url: second }]);
  });

  it('stores elsewhere with the credentials of its environment', async () => {
    const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
    const store = await startStore({ port: 0, dataDir: tempFolder(), bucket: 'elsewhere', credentials });
    closing.push(() => store.close());
    const proxy = await openProxy();
    const data = tempFolder();
    const elsewhere = {
      flags: ['--store', store.url, '--bucket', 'elsewhere'],
      env: { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' },
    };
    const first = await startServer(proxy, data, elsewhere);
    expect(first.output.out).toMatch(/^\d+ checks: /m);
    const place = await newPlace(proxy.url);
    const oid = await push(place, 'a large file');
    expect(store.head(`demo/art/${oid}`)?.sizeBytes).toBe(12);
    expect(await pull(place, { oid, size: 12 })).toBe('a large file');
    first.process.kill('SIGTERM');
    await first.ended();
    // A store that was tested once isn't tested again.
    const second = await startServer(proxy, data, elsewhere);
    expect(second.output.out).not.toContain('checks: ');
    expect(await pull(place, { oid, size: 12 })).toBe('a large file');
    second.process.kill('SIGTERM');
    await second.ended();
    const without = spawnServer(['--data', data, '--public-url', proxy.url, '--listen', '127.0.0.1:0']);
    expect((await without.ended()).exitCode).toBe(1);
    expect(without.output.err).toContain(`are in bucket elsewhere at ${store.url}, not in its own store.`);
  });

  it('refuses a store that does not keep its promises', async () => {
    const accepting = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
      incoming.resume().on('end', () => outgoing.writeHead(200, { etag: '"0"' }).end());
    });
    await once(accepting.listen(0, '127.0.0.1'), 'listening');
    closing.push(async () => accepting.close());
    const { port } = accepting.address() as AddressInfo;
    const data = tempFolder();
    const flags = ['--data', data, '--public-url', 'http://127.0.0.1:8787', '--listen', '127.0.0.1:0'];
    const store = ['--store', `http://127.0.0.1:${port}`, '--bucket', 'any'];
    const server = spawnServer([...flags, ...store], {
      AWS_ACCESS_KEY_ID: 'key',
      AWS_SECRET_ACCESS_KEY: 'secret',
    });
    expect((await server.ended()).exitCode).toBe(1);
    expect(server.output.err).toMatch(/Don't use lfs-quota with this store|couldn't be tested/);
    expect(readdirSync(data)).toEqual([]);
  });
});

describe('what its operator sees', () => {
  it('is live, ready and measured, apart from the API', async () => {
    const proxy = await openProxy();
    const server = await startServer(proxy, tempFolder(), {
      flags: ['--listen-metrics', '127.0.0.1:0', '--rate', '3'],
    });
    const probes = `http://127.0.0.1:${/^metrics on port (\d+)$/m.exec(server.output.out)?.[1]}`;
    const place = await newPlace(proxy.url);
    await push(place, 'a large file');
    for (const path of ['/live', '/ready']) expect((await fetch(`${probes}${path}`)).status).toBe(200);
    expect((await fetch(`${probes}/v1/status`)).status).toBe(404);
    expect((await fetch(`${proxy.url}/metrics`)).status).toBe(404);

    const statuses = new Map<number, number>();
    for (let index = 0; index < 40; index += 1) {
      const { status, headers } = await fetch(proxy.url);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 429) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(statuses.get(200)).toBeGreaterThan(0);
    expect(statuses.get(429)).toBeGreaterThan(0);

    const text = await (await fetch(`${probes}/metrics`)).text();
    for (const line of [
      /^lfs_quota_uploads_admitted_total 1$/m,
      /^lfs_quota_bytes_admitted_sum 12$/m,
      /^lfs_quota_tenant_limit_bytes\{tenant="demo"\} 1000000$/m,
      /^lfs_quota_tenant_committed_bytes\{tenant="demo"\} 12$/m,
      /^lfs_quota_uncounted_bytes\{folder="_parts"\} 0$/m,
      /^lfs_quota_request_duration_seconds_count\{function="lfsBatch",status="200"\} 1$/m,
      /^lfs_quota_request_duration_seconds_count\{function="limits",status="429"\} \d+$/m,
      /^lfs_quota_queue_messages\{queue="reconciles",state="dead"\} 0$/m,
      /^lfs_quota_build_info\{version="[^"]+",commit="[^"]*"\} 1$/m,
      /^lfs_quota_disk_full 0$/m,
      /^lfs_quota_disk_free_bytes [1-9]\d*$/m,
      /^nodejs_eventloop_lag_p99_seconds /m,
    ])
      expect(text).toMatch(line);
    const requests = server.output.err.split('\n').filter((line) => line.includes('"message":"request"'));
    expect(requests.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ function: 'lfsBatch', method: 'POST', status: 200, version: 'dev' }),
    );
    for (const secret of [place.token, adminToken, 'X-Amz-Signature'])
      expect(text + server.output.out + server.output.err).not.toContain(secret);
  });

  it('is that it takes no more, while it still answers, after SIGTERM', async () => {
    const proxy = await openProxy();
    const server = await startServer(proxy, tempFolder(), { flags: ['--listen-metrics', '127.0.0.1:0'] });
    const probes = `http://127.0.0.1:${/^metrics on port (\d+)$/m.exec(server.output.out)?.[1]}`;
    server.process.kill('SIGTERM');
    await vi.waitFor(async () => expect((await fetch(`${probes}/ready`)).status).toBe(503), {
      timeout: 10_000,
      interval: 20,
    });
    expect((await fetch(`${probes}/live`)).status).toBe(200);
    const answer = await fetch(`${proxy.url}/health`);
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    expect(await server.ended()).toEqual({ exitCode: 0, signal: null });
  });
});
