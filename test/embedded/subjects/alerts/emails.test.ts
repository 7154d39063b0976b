import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Mailer } from '../../../../lambda/frame/net/ports.ts';
import { type EmbeddedStack, startEmbeddedStack } from '../../../../local/start.ts';
import { Api, basic, expectProblem, expectStatus } from '../../../blackbox/api.ts';
import { objectOf, type Place, pointer, postBatch, push } from '../../../blackbox/lfs.ts';

/** The schedule runs once a minute. */
const soon = { timeout: 100_000, interval: 250 };

describe('an address of a tenant', () => {
  const adminToken = 'admin-token-of-the-email-tests';
  const mail: Parameters<Mailer['send']>[0][] = [];
  let dataDir: string;
  let stack: EmbeddedStack;
  let api: Api;
  let place: Place;
  const path = () => `/v1/tenants/${place.tenant}/emails`;
  const keyIn = (text = '') => /#_email\/\w+\/([\w.-]+)/.exec(text)?.[1] ?? '';
  const post = (to: string, body?: object) =>
    api.send({
      method: 'POST',
      path: to,
      headers: { 'content-type': body ? 'application/json' : 'application/x-www-form-urlencoded' },
      body: body ? JSON.stringify(body) : 'List-Unsubscribe=One-Click',
    });

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'lfs-quota-emails-'));
    stack = await startEmbeddedStack({
      port: 0,
      dataDir,
      adminToken,
      queueTiming: { quietMs: 500, quietMaxMs: 1000, spacingMs: 500 },
      mailer: {
        send: async (email) => void mail.push(email),
      },
    });
    api = new Api({ url: stack.url, adminToken });
    place = { ...(await api.newTenant({ limitBytes: 1000 })), repo: 'game' };
  });

  afterAll(async () => {
    await stack?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('gets a link, and confirms by it', async () => {
    const asked = await api.manage('POST', path(), { address: 'ada@example.com' });
    expectStatus(asked, 202);
    expect(asked.text).not.toContain('key');
    await expect.poll(() => mail.length, soon).toBe(1);
    expect(mail[0]?.text).toContain(`${stack.url}/#_email/confirm/`);
    expectProblem(await post('/v1/emails/confirm', { key: `${place.tenant}.${'x'.repeat(32)}` }), 404);
    expectProblem(await post('/v1/emails/confirm', { key: `nobody.${'x'.repeat(32)}` }), 404);
    expectStatus(await post('/v1/emails/confirm', { key: keyIn(mail[0]?.text) }), 204);
    expectStatus(await api.manage('POST', path(), { address: 'ada@example.com' }), 200);
  });

  it('hears of a push that was refused, once, and ends it by one click of its mail program', async () => {
    await push(api, place, [objectOf(500)]);
    const body = { operation: 'upload', objects: [pointer(objectOf(900))] };
    const batch = await postBatch(api, place, body, basic(place.writeToken));
    expect(batch.text).toContain('507');
    await expect.poll(() => mail.length, soon).toBe(2);
    expect(mail[1]?.subject).toContain('a push was refused');
    const link = new URL(mail[1]?.unsubscribeUrl ?? '');
    expect(link.origin).toBe(stack.url);
    expectStatus(await post(link.pathname + link.search), 204);
    const list = await api.manage('GET', path());
    expect(JSON.parse(list.text)).toMatchObject({
      emails: [{ address: 'ada@example.com', ended: 'unsubscribed' }],
    });
    expectProblem(await post('/v1/emails/unsubscribe?key=junk'), 404);
    expectProblem(await post('/v1/emails/unsubscribe'), 422);
  });

  it('is removed, and junk is told what is wrong with it', async () => {
    expectStatus(await api.manage('DELETE', `${path()}?address=ada%40example.com`), 204);
    expectProblem(await api.manage('DELETE', `${path()}?address=ada%40example.com`), 404);
    for (const address of ['ada', '', 'a@b', `${'a'.repeat(260)}@example.com`])
      expectProblem(await api.manage('POST', path(), { address }), 422);
    expect(mail).toHaveLength(2);
  });
});
