import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type Reach, readTrustedProxies } from '../../../local/reach.ts';
import { type EmbeddedStack, startEmbeddedStack } from '../../../local/start.ts';
import { cli, startServer } from './harness.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'lfs-quota-check-'));
let stack: EmbeddedStack;

/** A request as it's passed on; what is answered instead; `reset`: the connection ends. */
type Change = (asked: {
  method: string;
  path: string;
  headers: Record<string, string | string[] | undefined>;
}) => { status: number; body?: string } | 'reset' | undefined;
let change: Change | undefined;

/** A proxy before the stack, which the test changes. By itself it passes all on, and says who asked. */
const proxy = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
  const { method = '', url: path = '' } = incoming;
  const headers = { ...incoming.headers, 'x-forwarded-for': '192.0.2.7' };
  const changed = change?.({ method, path, headers });
  if (changed === 'reset') return void incoming.socket.destroy();
  if (changed) return void outgoing.writeHead(changed.status).end(changed.body);
  const onward = request({ port: stack.port, host: '127.0.0.1', method, path, headers });
  onward.on('response', (answer: IncomingMessage) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  onward.on('error', () => outgoing.destroy());
  incoming.pipe(onward);
});
const reach: { -readonly [N in keyof Reach]: Reach[N] } = {};
beforeAll(async () => {
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const publicUrl = new URL(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  stack = await startEmbeddedStack({
    port: 0,
    dataDir,
    createDemo: false,
    reach: Object.assign(reach, { publicUrls: [publicUrl], trusts: readTrustedProxies('127.0.0.1') }),
  });
});
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await stack.close();
  rmSync(dataDir, { recursive: true });
});
afterEach(() => {
  vi.restoreAllMocks();
  change = undefined;
  reach.objectsUrl = undefined;
  reach.uploadBytesMax = undefined;
});

/** Asks as the operator does. */
async function manage(path: string, body?: unknown): Promise<unknown> {
  const headers = { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  return (await fetch(`${stack.url}/v1/tenants${path}`, { headers, ...sent })).json();
}

let tenants = 0;
async function tenantWith(limitBytes: number | null = null): Promise<string> {
  tenants += 1;
  const tenant = `acme-${tenants}`;
  await manage('', { tenant, limitBytes });
  return tenant;
}

const tokenShape = z.object({ token: z.string() });
async function tokenOf(tenant: string, scope: 'read' | 'write' | 'manage'): Promise<string> {
  return tokenShape.parse(await manage(`/${tenant}/tokens`, { scope })).token;
}

const check = (token: string, ...more: string[]) =>
  cli(['check', stack.url, ...more], { env: { LFS_QUOTA_TOKEN: token } });
const asAdmin = (tenant: string) => check(stack.adminToken, '--tenant', tenant);

/** What a check has left of itself. */
async function leftOf(tenant: string) {
  const [tokens, deletions, objects] = await Promise.all(
    ['tokens', 'deletions', 'objects'].map((list) => manage(`/${tenant}/${list}`)),
  );
  return { ...(tokens as object), ...(deletions as object), ...(objects as object) } as {
    readonly tokens: readonly unknown[];
    readonly deletions: readonly { readonly repo: string; readonly oid: string }[];
    readonly objects: readonly { readonly repo: string; readonly oid: string; readonly sizeBytes: number }[];
  };
}

const zeros = '0'.repeat(64);

/** Changes what the store answers. The requests that only look for a proxy are left alone. */
function inStore(changed: (method: string) => ReturnType<Change>): void {
  change = ({ method, path }) =>
    path.includes('X-Amz-Signature') && !path.includes(zeros) ? changed(method) : undefined;
}

describe('check', () => {
  it('with the admin token pushes, pulls and leaves nothing but what is scheduled for deletion', async () => {
    const tenant = await tenantWith();
    const { code, out, err } = await asAdmin(tenant);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.replace(stack.url, 'URL').replace(/(deleted) in .+/, '$1')).toBe(
      [
        'ok    health    dev',
        `ok    token     made one for ${tenant}`,
        `ok    batch     ${tenant}/lfs-quota-check, 64 MiB`,
        'ok    proxy     fine',
        'ok    upload    64 MiB',
        'ok    verify    the server finds it',
        'ok    download  64 MiB',
        'ok    clean up  deleted',
        '\nURL works.\n',
      ].join('\n'),
    );
    const { tokens, deletions, objects } = await leftOf(tenant);
    expect(tokens).toEqual([]);
    expect(objects).toEqual([
      expect.objectContaining({ repo: 'lfs-quota-check', sizeBytes: 64 * 1024 ** 2 }),
    ]);
    expect(deletions).toEqual([expect.objectContaining({ oid: objects[0]?.oid })]);
    expect((await asAdmin(tenant)).code).toBe(0);
  });

  it('with a token that manages uses it, and the repo that is named', async () => {
    const tenant = await tenantWith();
    const { code, out } = await check(await tokenOf(tenant, 'manage'), '--repo', 'game', '--json');
    expect(code).toBe(0);
    const report = JSON.parse(out);
    expect(report).toMatchObject({ url: stack.url, works: true });
    expect(report.steps.map(({ step }: { step: string }) => step)).toEqual([
      'health',
      'token',
      'batch',
      'proxy',
      'upload',
      'verify',
      'download',
      'clean up',
    ]);
    const { deletions } = await leftOf(tenant);
    expect(deletions).toEqual([expect.objectContaining({ repo: 'game' })]);
  });

  it('with a token that only pushes says what it leaves', async () => {
    const tenant = await tenantWith();
    const { code, out } = await check(await tokenOf(tenant, 'write'));
    const { objects, deletions } = await leftOf(tenant);
    expect({ code, deletions }).toEqual({ code: 0, deletions: [] });
    expect(out).toContain(
      `kept: only an admin can delete ${objects[0]?.oid.slice(0, 12)}… from lfs-quota-check`,
    );
  });

  it.each([
    ['a token that only reads', 'read', [], 4, "The token can't push: its scope is read."],
    ["another tenant's name", 'write', ['--tenant', 'other'], 2, 'Leave out --tenant.'],
  ] as const)('refuses %s', async (_, scope, more, exitCode, message) => {
    const token = await tokenOf(await tenantWith(), scope);
    const { code, err, out } = await check(token, ...more);
    expect({ code, err }).toEqual({ code: exitCode, err: expect.stringContaining(message) });
    expect(out).toContain('FAIL  token');
  });

  it('needs a tenant for the admin token, and one that is there', async () => {
    const without = await check(stack.adminToken);
    expect({ code: without.code, err: without.err }).toEqual({
      code: 2,
      err: expect.stringContaining('The admin token needs --tenant.'),
    });
    expect((await asAdmin('nobody-has-it')).code).toBe(3);
  });

  it('where pushes create no repos says that one must be created', async () => {
    const tenant = await tenantWith();
    const env = { LFS_QUOTA_URL: stack.url, LFS_QUOTA_TOKEN: stack.adminToken };
    expect((await cli(['tenant', 'new-repos', tenant, 'created'], { env })).code).toBe(0);
    const { code, err } = await asAdmin(tenant);
    expect(code).toBe(3);
    expect(err).toContain(`lfs-quota repo create ${tenant} lfs-quota-check`);
    await cli(['repo', 'create', tenant, 'lfs-quota-check'], { env });
    expect((await asAdmin(tenant)).code).toBe(0);
  });

  it('of a tenant that is full fails at the batch, and takes its token back', async () => {
    const tenant = await tenantWith(500);
    const { code, out, err } = await asAdmin(tenant);
    expect(code).toBe(5);
    expect(out).toContain('FAIL  batch');
    expect(out).toContain('ok    clean up  nothing is left');
    expect(err).toContain(`See its limit: lfs-quota usage ${tenant}`);
    expect((await leftOf(tenant)).tokens).toEqual([]);
  });

  it('of a store that refuses the upload says so, without the URL, and cleans up', async () => {
    const tenant = await tenantWith();
    const body = '<Error><Code>SignatureDoesNotMatch</Code></Error>';
    inStore((method) => (method === 'PUT' ? { status: 403, body } : undefined));
    const { code, out, err } = await asAdmin(tenant);
    expect(code).toBe(1);
    expect(out).toContain('FAIL  upload');
    expect(err).toMatch(/^error: 127\.0\.0\.1:\d+: The store returned 403 \(SignatureDoesNotMatch\)\.\n/);
    expect(err).toContain('Does a proxy change path, headers or body? nginx: proxy_pass without a path.');
    expect(out + err).not.toContain('X-Amz');
    expect((await leftOf(tenant)).tokens).toEqual([]);
  });

  it('of a store that cannot be reached says why, after some attempts', async () => {
    let puts = 0;
    inStore((method) => {
      if (method === 'PUT') puts += 1;
      return method === 'PUT' ? 'reset' : undefined;
    });
    const { code, err } = await asAdmin(await tenantWith());
    expect({ code, err }).toEqual({
      code: 6,
      err: expect.stringContaining('The connection to the store failed (ECONNRESET).'),
    });
    expect(puts).toBe(6);
  });

  it('of a store that is busy for a moment goes on', async () => {
    let puts = 0;
    inStore((method) => {
      if (method !== 'PUT') return undefined;
      puts += 1;
      return puts < 3 ? { status: 503 } : undefined;
    });
    expect((await asAdmin(await tenantWith())).code).toBe(0);
    expect(puts).toBe(3);
  });

  it('of a store that returns other bytes fails at the download', async () => {
    const tenant = await tenantWith();
    inStore((method) => (method === 'GET' ? { status: 200, body: 'x'.repeat(1000) } : undefined));
    const { code, out, err } = await asAdmin(tenant);
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining('The store returned other bytes.'),
    });
    expect(out).toContain('FAIL  download');
    expect((await leftOf(tenant)).deletions).toHaveLength(1);
  });

  it('sends half of what the limit leaves, and deletes it', async () => {
    const tenant = await tenantWith(10 * 1024 ** 2);
    const { code, out } = await asAdmin(tenant);
    expect(code).toBe(0);
    expect(out).toContain(`ok    batch     ${tenant}/lfs-quota-check, 5 MiB: little space is left\n`);
    expect(out).toContain('ok    download  5 MiB\n');
    const { objects, deletions } = await leftOf(tenant);
    expect(deletions).toEqual([expect.objectContaining({ oid: objects[0]?.oid })]);
    // All that is left is sent only if that is asked for.
    const asked = await check(stack.adminToken, '--tenant', tenant, '--size', '5MiB');
    expect(asked.out).toContain(`ok    batch     ${tenant}/lfs-quota-check, 5 MiB\n`);
  });

  it('pulls half of what is left of the month, and says what used it up', async () => {
    const tenant = await tenantWith();
    const env = { LFS_QUOTA_URL: stack.url, LFS_QUOTA_TOKEN: stack.adminToken };
    await cli(['tenant', 'download-limit', tenant, '10MiB'], { env });
    const { code, out } = await asAdmin(tenant);
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringContaining(`${tenant}/lfs-quota-check, 5 MiB: few downloads are left\n`),
    });
    await cli(['tenant', 'download-limit', tenant, '5MiB'], { env });
    const used = await asAdmin(tenant);
    expect(used).toMatchObject({ code: 5, out: expect.stringContaining('ok    upload    1000 B\n') });
    expect(used.out).toMatch(/^FAIL {2}download .*Monthly download limit reached: .* used 5 MiB of 5 MiB/m);
    expect(used.out).toContain('ok    clean up  deleted');
    expect(used.err).toContain(`See them: lfs-quota downloads ${tenant}`);
  });

  it('sends what the disk has space for', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-check-disk-'));
    const mebibyte = 1024 ** 2;
    const disk = await startEmbeddedStack({
      port: 0,
      dataDir: folder,
      createDemo: false,
      diskOf: () => ({ folder, freeBytes: (256 + 20) * mebibyte, sizeBytes: 1e12 }),
    });
    const env = { LFS_QUOTA_URL: disk.url, LFS_QUOTA_TOKEN: disk.adminToken };
    await cli(['tenant', 'create', 'acme'], { env });
    const { code, out } = await cli(['check', '--tenant', 'acme'], { env });
    await disk.close();
    rmSync(folder, { recursive: true });
    expect(code).toBe(0);
    expect(out).toContain(
      "ok    batch     acme/lfs-quota-check, 8 MiB: of 64 MiB, The server rejected it: The server's disk is full",
    );
  });

  it('sends as much as it was asked for, even if it stays', async () => {
    const token = await tokenOf(await tenantWith(), 'write');
    const { code, out } = await check(token, '--size', '2MiB');
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('ok    upload    2 MiB\n') });
    for (const size of ['0', '6GiB']) expect((await check(token, '--size', size)).code).toBe(2);
  });

  it('misses no proxy where none is: on the machine of the server', async () => {
    const direct = `http://127.0.0.1:${stack.port}`;
    const env = { LFS_QUOTA_URL: direct, LFS_QUOTA_TOKEN: stack.adminToken };
    const { code, out } = await cli(['check', '--tenant', await tenantWith(), '--size', '1MiB'], { env });
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(
        /^ok {4}proxy {5}not tested: links have http:.*To use http:.* --public-url\./m,
      ),
    });
    expect(out).toContain(`\n${direct} works.\n`);
  });

  describe('through a proxy', () => {
    it.each([
      [
        'limits uploads to 1 MB',
        ({ method }) => (method === 'PUT' ? { status: 413 } : undefined),
        1,
        /FAIL {2}upload .*returned 413\.\n[\s\S]*A proxy limits bodies\. nginx: client_max_body_size 0;/,
      ],
      [
        'limits uploads to 1 GB',
        ({ path }) => (path.includes(zeros) ? { status: 413 } : undefined),
        0,
        /warn {2}proxy {5}A proxy limits uploads: 5 GiB got 413\. .*\n[\s\S]*works, but not well\.\n/,
      ],
      [
        'removes the credential',
        ({ headers }) => void delete headers['authorization'],
        1,
        /FAIL {2}health .*\n[\s\S]*nginx: proxy_set_header Authorization \$http_authorization;/,
      ],
      [
        "doesn't say who asks",
        ({ headers }) => void delete headers['x-forwarded-for'],
        0,
        /warn {2}proxy {5}All clients share one rate limit\. nginx: proxy_set_header X-Forwarded-For/,
      ],
      [
        'removes a signed header',
        ({ headers }) => void delete headers['x-amz-checksum-sha256'],
        1,
        /FAIL {2}upload .*\(SignatureDoesNotMatch\)\.\n[\s\S]*Does a proxy change path, headers or body\?/,
      ],
      [
        'is in the way of what is verified',
        ({ path }) => (path.endsWith('/verify') ? { status: 502 } : undefined),
        6,
        /FAIL {2}verify .*The server returned 502\.\n[\s\S]*Read the logs of the proxy and the server\./,
      ],
    ] satisfies [string, Change, number, RegExp][])(
      'that %s, names what to change',
      async (_, changed, code, says) => {
        change = changed;
        const env = { LFS_QUOTA_TOKEN: stack.adminToken };
        const tenant = await tenantWith();
        const ended = await cli(['check', stack.url, '--tenant', tenant, '--size', '1MiB'], { env });
        expect({ ...ended, code: ended.code }).toMatchObject({ code });
        expect(ended.out + ended.err).toMatch(says);
        if (code !== 0) expect(ended.out).not.toContain('works');
      },
    );
  });

  it('sends what the server lets through a proxy that limits bodies', async () => {
    reach.uploadBytesMax = 90e6;
    const sizes = new Set<unknown>();
    change = ({ method, path, headers }) => {
      if (method === 'PUT' && path.includes(zeros)) sizes.add(headers['content-length']);
      return undefined;
    };
    const { code, out } = await check(await tokenOf(await tenantWith(), 'manage'), '--size', '1MiB');
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('ok    proxy     fine\n') });
    expect([...sizes]).toEqual(['90000000']);
  });

  it('names an --objects-url that leads elsewhere', async () => {
    const other = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
      if (incoming.url?.includes(zeros)) return void incoming.socket.destroy();
      incoming.resume().once('end', () => outgoing.writeHead(404).end());
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const host = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    reach.objectsUrl = `http://${host}`;
    const ended = await check(await tokenOf(await tenantWith(), 'manage'), '--size', '1MiB');
    other.closeAllConnections();
    other.close();
    expect(ended.code).toBe(1);
    expect(ended.out).toMatch(new RegExp(`^FAIL {2}upload {4}${host}: The store returned 404`, 'm'));
    expect(ended.err).toContain(`Does ${host}, of --objects-url, lead to this server`);
  });

  it('stops at Ctrl-C, and cleans up', async () => {
    const tenant = await tenantWith();
    let interrupt = () => {};
    inStore((method) => {
      if (method === 'PUT') interrupt();
      return undefined;
    });
    const onInterrupt = (listener: () => void) => {
      interrupt = listener;
      return () => undefined;
    };
    const env = { LFS_QUOTA_TOKEN: stack.adminToken };
    const { code, out } = await cli(['check', stack.url, '--tenant', tenant], { env, onInterrupt });
    expect(code).toBe(130);
    expect(out).toContain('ok    clean up');
    expect((await leftOf(tenant)).tokens).toEqual([]);
  });

  it.each([
    ['another server', 200, '<html></html>', 1, "doesn't answer as lfs-quota does"],
    ['a server that is down', 503, '', 6, '/health returned 503.'],
  ])('of %s fails first', async (_, status, body, exitCode, message) => {
    const server = await startServer(() => ({ status, body, type: 'text/html' }));
    const { code, out, err } = await cli(['check', server.url], { env: { LFS_QUOTA_TOKEN: 'x' } });
    await server.close();
    expect({ code, err }).toEqual({ code: exitCode, err: expect.stringContaining(message) });
    expect(out).toContain('FAIL  health');
    expect(server.asked).toHaveLength(1);
  });

  it('of a server that offers no upload is no success', async () => {
    const session = {
      kind: 'tenant',
      limitContactUrl: null,
      tenant: 'acme',
      user: null,
      label: null,
      tokenId: 't',
      scope: 'write',
      repos: null,
      expiresAt: null,
    };
    const tenant = await tenantWith();
    const subscription = await manage(`/${tenant}/subscription`);
    const downloads = await manage(`/${tenant}/downloads`);
    const server = await startServer(({ path }) => {
      if (path === '/health') return { status: 200, body: { status: 'ok' } };
      if (path === '/v1/session') return { status: 200, body: session };
      if (path.endsWith('/subscription')) return { status: 200, body: subscription };
      if (path.includes('/downloads')) return { status: 200, body: downloads };
      return { status: 200, body: { objects: [] } };
    });
    const { code, out, err } = await cli(['check', server.url, '--json'], { env: { LFS_QUOTA_TOKEN: 'x' } });
    await server.close();
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('offered no URL of the store.') });
    const { works, steps } = JSON.parse(out);
    expect(works).toBe(false);
    expect(steps[0]).toMatchObject({ step: 'health', detail: 'an older version' });
    expect(steps.filter(({ ok }: { ok: boolean }) => !ok)).toMatchObject([{ step: 'batch' }]);
  });

  it('tells the release of the server', async () => {
    const release = { status: 'ok', version: '1.4.0', commit: '0123456789ab' };
    const server = await startServer(({ path }) =>
      path === '/health' ? { status: 200, body: release } : { status: 401, body: {} },
    );
    const { out } = await cli(['check', server.url], { env: { LFS_QUOTA_TOKEN: 'x' } });
    await server.close();
    expect(out).toContain('ok    health    1.4.0 (0123456789ab)\nFAIL  token');
  });
});
