import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type EmbeddedStack, startEmbeddedStack } from '../../../../local/start.ts';
import { startStandInHost } from '../../../support/git-host.ts';
import { recordingLog } from '../../../support/recording-log.ts';

const adminToken = 'admin-token-of-the-read-through-test';
const token = 'forge-token-of-ada-0123456789';
const batchShape = z.object({
  objects: z.array(
    z.object({
      oid: z.string(),
      actions: z.object({ download: z.object({ href: z.string() }) }).optional(),
      error: z.object({ message: z.string() }).optional(),
    }),
  ),
});

describe('a repo that reads through to its git host', () => {
  const { log, entries } = recordingLog();
  const right = randomBytes(3_000_000);
  const wrong = randomBytes(500_000);
  const oidOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  /** It has the first, and lies of the other. */
  const upstream = createServer({ keepAliveTimeout: 60_000 }, ({ url }, response) => {
    const bytes = url?.includes(oidOf(right)) ? right : Buffer.alloc(wrong.length);
    response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
  });
  let dataDir: string;
  let stack: EmbeddedStack;
  let forge: Awaited<ReturnType<typeof startStandInHost>>;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'lfs-quota-test-'));
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    forge = await startStandInHost();
    forge.host.person({ id: 1, login: 'ada', token });
    forge.host.repository('acme/game', { id: 7, people: { ada: 'read' } });
    for (const bytes of [right, wrong]) {
      const oid = oidOf(bytes);
      const href = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/${oid}?signature=secret`;
      forge.host.objects.set(oid, { size: bytes.length, href });
    }
    const gitHosts = [forge.setting];
    stack = await startEmbeddedStack({
      port: 0,
      dataDir,
      adminToken,
      log,
      gitHosts,
      allowsLoopbackWebhooks: true,
    });
    await manage('POST', '/v1/tenants', { tenant: 'acme', limitBytes: 10_000_000 });
    await manage('POST', '/v1/tenants/acme/repos', { repo: 'game' });
    await manage('POST', '/v1/tenants/acme/reconcile');
    const gitHost = { host: 'forge', repo: 'acme/game', readThrough: true };
    await manage('PATCH', '/v1/tenants/acme/repos/game', { gitHost });
  });

  afterAll(async () => {
    await stack?.close();
    await forge?.close();
    upstream.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function manage(method: string, path: string, body?: object): Promise<unknown> {
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
    const answer = await fetch(stack.url + path, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    expect(answer.ok, text).toBe(true);
    return text === '' ? undefined : JSON.parse(text);
  }

  async function download(...all: Buffer[]): Promise<string[]> {
    const type = 'application/vnd.git-lfs+json';
    const authorization = `Basic ${Buffer.from(`ada:${token}`).toString('base64')}`;
    const objects = all.map((bytes) => ({ oid: oidOf(bytes), size: bytes.length }));
    const answer = await fetch(`${stack.url}/acme/game/info/lfs/objects/batch`, {
      method: 'POST',
      headers: { authorization, accept: type, 'content-type': type },
      body: JSON.stringify({ operation: 'download', objects }),
    });
    const found = batchShape.parse(await answer.json()).objects;
    return found.map(({ actions, error }) => actions?.download.href ?? error?.message ?? '');
  }

  const saidOf = (message: string) => entries.filter((entry) => entry.message === message);
  const until = async (isTrue: () => boolean) => {
    while (!isTrue()) await sleep(20);
  };

  it('has afterwards what was pulled, and never other bytes', async () => {
    expect(await download(right, wrong)).toEqual([
      expect.stringContaining('signature=secret'),
      expect.stringContaining('signature=secret'),
    ]);
    await until(() => saidOf('object copied').length === 1 && saidOf('object not copied').length === 1);
    expect(saidOf('object not copied')).toMatchObject([
      { fields: { oid: oidOf(wrong), reason: 'store-400' } },
    ]);
    const before = forge.host.requests.length;
    const [own = ''] = await download(right);
    expect(new URL(own).origin).not.toContain(String((upstream.address() as AddressInfo).port));
    expect(Buffer.from(await (await fetch(own)).arrayBuffer()).equals(right)).toBe(true);
    expect(forge.host.requests).toHaveLength(before);
    expect((await download(wrong))[0]).toContain('signature=secret');
    expect(JSON.stringify(entries)).not.toMatch(/signature=|forge-token/);
  });

  it('tells how many copies failed, and how full their queue is', async () => {
    const shown = await manage('GET', '/v1/tenants/acme/repos/game');
    expect(shown).toMatchObject({ copies: { queued: 0, failed: 1 } });
    const { queues } = z
      .object({ queues: z.array(z.looseObject({ queue: z.string() })) })
      .parse(await manage('GET', '/v1/status'));
    expect(queues).toContainEqual(expect.objectContaining({ queue: 'copies', waiting: 0, running: 0 }));
  });
});
