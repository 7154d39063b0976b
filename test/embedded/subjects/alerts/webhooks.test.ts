import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedStack, startEmbeddedStack } from '../../../../local/start.ts';
import { Api, basic } from '../../../blackbox/api.ts';
import { objectOf, type Place, pointer, postBatch, push } from '../../../blackbox/lfs.ts';
import { subscriptionOf } from '../../../blackbox/subscription.ts';
import { recordingLog } from '../../../support/recording-log.ts';

interface Received {
  readonly id: string;
  readonly isSigned: boolean;
  readonly body: { type: string; timestamp: string; data: Record<string, unknown> };
}

/** A receiver as somebody else writes it, from the specification of Standard Webhooks. */
class Receiver {
  readonly received: Received[] = [];
  secret = '';
  /** What it answers, one after the other; then 204. */
  readonly answers: number[] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString('utf8');
      const header = (name: string) => String(request.headers[name]);
      const age = Math.abs(Date.now() / 1000 - Number(header('webhook-timestamp')));
      const key = Buffer.from(this.secret.slice(6), 'base64');
      const signed = `${header('webhook-id')}.${header('webhook-timestamp')}.${text}`;
      const expected = createHmac('sha256', key).update(signed).digest('base64');
      const isSigned = age < 300 && header('webhook-signature').split(' ').includes(`v1,${expected}`);
      this.received.push({ id: header('webhook-id'), isSigned, body: JSON.parse(text) });
      response.writeHead(this.answers.shift() ?? 204).end();
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** The schedule runs once a minute. */
const soon = { timeout: 100_000, interval: 250 };

describe('a receiver of warnings', () => {
  const adminToken = 'admin-token-of-the-webhook-tests';
  const receiver = new Receiver();
  const { log, entries } = recordingLog();
  let url: string;
  let dataDir: string;
  let stack: EmbeddedStack;
  let api: Api;
  let place: Place;
  const path = () => `/v1/tenants/${place.tenant}/webhook`;
  const ids = () => receiver.received.map(({ id }) => id.split(':')[1]);

  const start = async () => {
    stack = await startEmbeddedStack({
      port: 0,
      dataDir,
      adminToken,
      log,
      allowsLoopbackWebhooks: true,
      queueTiming: { quietMs: 500, quietMaxMs: 1000, spacingMs: 500 },
    });
    api = new Api({ url: stack.url, adminToken });
  };

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'lfs-quota-test-'));
    url = await receiver.listen();
    await start();
    place = { ...(await api.newTenant({ limitBytes: 1000 })), repo: 'game' };
    const answer = await api.manage('PUT', path(), { url });
    expect(answer.status, answer.text).toBe(201);
    receiver.secret = (JSON.parse(answer.text) as { secret: string }).secret;
  });

  afterAll(async () => {
    receiver.close();
    await stack?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('hears once that 80 percent are reached and that the tenant is full, signed', {
    timeout: 150_000,
  }, async () => {
    await push(api, place, [objectOf(850)]);
    const counts = Array.from({ length: 3 }, () =>
      subscriptionOf(api, place.tenant, { query: '?refresh=true' }),
    );
    await Promise.all(counts);
    for (let times = 0; times < 3; times += 1) {
      const body = { operation: 'upload', objects: [pointer(objectOf(5000))] };
      await postBatch(api, place, body, basic(place.writeToken));
    }
    await expect.poll(() => receiver.received.length, soon).toBe(2);
    expect(receiver.received.every(({ isSigned }) => isSigned)).toBe(true);
    const level = receiver.received.find(({ body }) => body.type === 'storage.threshold');
    expect(level?.body.data).toEqual({
      tenant: place.tenant,
      threshold: 80,
      previousThreshold: 0,
      storedBytes: 850,
      limitBytes: 1000,
    });
    const full = receiver.received.find(({ body }) => body.type === 'storage.limit_reached');
    expect(full?.body.data).toEqual({ tenant: place.tenant, storedBytes: 850, limitBytes: 1000 });
    expect(ids().sort()).toEqual(['1', '2']);
  });

  it('hears that the level is left because the limit is higher, after it had refused once, and over a restart', {
    timeout: 150_000,
  }, async () => {
    receiver.answers.push(500);
    const changed = await api.manage('PATCH', `/v1/tenants/${place.tenant}`, { limitBytes: 10_000 });
    expect(changed.status).toBe(200);
    await expect.poll(() => receiver.received.length, soon).toBe(3);
    await stack.close();
    await start();
    await expect.poll(() => receiver.received.length, soon).toBe(4);
    expect(ids().slice(2)).toEqual(['3', '3']);
    expect(receiver.received.at(-1)).toMatchObject({
      isSigned: true,
      body: { type: 'storage.threshold', data: { threshold: 0, previousThreshold: 80, limitBytes: 10_000 } },
    });
    await expect
      .poll(async () => JSON.parse((await api.manage('GET', path())).text).last, soon)
      .toMatchObject({ eventId: `${place.tenant}:3`, attempt: 2, outcome: 'delivered', status: 204 });
  });

  it('hears a test at once', async () => {
    expect((await api.manage('POST', `${path()}/test`)).status).toBe(202);
    await expect.poll(() => receiver.received.at(-1)?.body.type, soon).toBe('webhook.test');
  });

  it('hears nothing once it is removed, and no secret or address is in the log', async () => {
    const before = receiver.received.length;
    expect((await api.manage('DELETE', path())).status).toBe(204);
    expect((await api.manage('POST', `${path()}/test`)).status).toBe(404);
    expect(receiver.received).toHaveLength(before);
    const logged = JSON.stringify(entries);
    expect(logged).toContain('storage.threshold');
    expect(logged).not.toContain('whsec_');
    expect(logged).not.toContain(url);
  });
});
