import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EmbeddedStack, startEmbeddedStack } from '../../local/start.ts';

/** Requests that must be refused, or must not keep others from what they may do. */

const dataDir = mkdtempSync(join(tmpdir(), 'lfs-quota-rejections-'));
let stack: EmbeddedStack;

beforeAll(async () => {
  stack = await startEmbeddedStack({ port: 0, dataDir, createDemo: false });
  await call('POST', '/v1/tenants', { body: { tenant: 'acme', limitBytes: null } });
});

afterAll(async () => {
  await stack.close();
  rmSync(dataDir, { recursive: true });
});

interface Asked {
  readonly body?: object;
  /** '': none. Default: the admin token. */
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function call(method: string, path: string, { body, token = stack.adminToken, headers }: Asked = {}) {
  const sent = {
    ...(token !== '' && { authorization: `Bearer ${token}` }),
    'content-type': 'application/json',
    ...headers,
  };
  const request = { method, headers: sent, ...(body && { body: JSON.stringify(body) }) };
  const response = await fetch(`http://127.0.0.1:${stack.port}${path}`, request);
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
}

const newToken = async (scope: string, user: string): Promise<{ token: string; tokenId: string }> =>
  (await call('POST', '/v1/tenants/acme/tokens', { body: { scope, user } })).body;

const started = async (): Promise<{ userCode: string; token: string }> =>
  (await call('POST', '/v1/device', { token: '', body: { machine: 'laptop' } })).body;

it('lists no machine whose approver has lost the token', async () => {
  const { token, tokenId } = await newToken('write', 'ada');
  const { userCode } = await started();
  const approved = await call('POST', '/v1/tenants/acme/device', { token, body: { userCode } });
  const listed = async () =>
    (await call('GET', '/v1/tenants/acme/tokens')).body.tokens.map(
      (each: { tokenId: string }) => each.tokenId,
    );
  expect(await listed()).toContain(approved.body.tokenId);
  await call('DELETE', `/v1/tenants/acme/tokens/${tokenId}`);
  expect(await listed()).not.toContain(approved.body.tokenId);
});

it("counts the wrong codes of a user apart from the admins' ones", async () => {
  const { token } = await newToken('read', 'bob');
  const statuses: number[] = [];
  for (let tries = 0; tries < 6; tries += 1)
    statuses.push(
      (await call('POST', '/v1/tenants/acme/device', { token, body: { userCode: 'BBBB-BBBB' } })).status,
    );
  expect(statuses).toEqual([404, 404, 404, 404, 404, 429]);
  const { userCode } = await started();
  expect((await call('POST', '/v1/tenants/acme/device', { body: { userCode } })).status).toBe(200);
});

it("does nothing for a page of another site, which has the browser's login", async () => {
  const { token } = await newToken('write', 'ada');
  const ask = (site: string) =>
    call('POST', '/acme/game/info/lfs/locks', {
      token,
      body: { path: 'a.bin' },
      headers: { 'content-type': 'text/plain;charset=UTF-8', 'sec-fetch-site': site },
    });
  expect((await ask('cross-site')).status).toBe(403);
  expect((await ask('same-origin')).status).toBe(201);
});

it('takes a push to the other case of a repo that is being deleted', async () => {
  const { token } = await newToken('write', 'ada');
  const batch = (repo: string) =>
    call('POST', `/acme/${repo}/info/lfs/objects/batch`, {
      token,
      body: { operation: 'upload', objects: [{ oid: 'ab'.repeat(32), size: 5 }] },
    });
  await call('POST', '/v1/tenants/acme/repos', { body: { repo: 'Game' } });
  expect((await batch('GAME')).status).toBe(404);
  await call('DELETE', '/v1/tenants/acme/repos/Game');
  expect((await batch('GAME')).status).toBe(200);
});
