import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, bearer, bodyOf, expectProblem, expectStatus, jsonOf } from '../../api.ts';
import { objectOf, type Place, push } from '../../lfs.ts';
import type { Subject } from '../../subject.ts';
import { subscriptionOf } from '../../subscription.ts';

const instant = z.iso.datetime();
const webhookShape = z.strictObject({
  url: z.string(),
  createdAt: instant,
  secretChangedAt: instant,
  last: z
    .strictObject({
      eventId: z.string(),
      type: z.string(),
      at: instant,
      attempt: z.number(),
      outcome: z.enum(['delivered', 'failed', 'given-up']),
      status: z.number().nullable(),
      failure: z.string().nullable(),
      nextAt: instant.nullable(),
    })
    .nullable(),
});
const withSecret = webhookShape.extend({ secret: z.string().nullable() });

/** The schedule hands warnings over within a minute, and SQS and the sender have to start. */
const warnedWithinMs = 200_000;

/** Warnings, and where they are sent. */
function webhookTests(api: () => Api): void {
  describe('the webhook', () => {
    // Nobody has this name, so that it can be reached from nowhere.
    const url = 'https://hooks.lfs-quota.invalid/a?b=c';
    let place: Place;
    const path = () => `/v1/tenants/${place.tenant}/webhook`;
    const set = async (body: object) => api().manage('PUT', path(), body);
    const show = async () => {
      return bodyOf(await api().manage('GET', path()), 200, webhookShape);
    };

    beforeAll(async () => {
      place = await api().newPlace({ limitBytes: 1000 });
    });

    it('is absent until it is set', async () => {
      for (const method of ['GET', 'DELETE'] as const) {
        const answer = await api().manage(method, path());
        expectProblem(answer, 404);
        expect(jsonOf(answer)).toMatchObject({ code: 'webhook-not-found' });
      }
      expectProblem(await api().manage('POST', `${path()}/test`), 404);
    });

    it('shows its secret once, and a new one only if it is asked for', async () => {
      const { secret, last } = bodyOf(await set({ url }), 201, withSecret);
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/=]{32,}$/);
      expect(last).toBeNull();
      expect(await show()).toMatchObject({ url, last: null });
      const again = await set({ url });
      expect([again.status, withSecret.parse(jsonOf(again)).secret]).toEqual([200, null]);
      const rotated = withSecret.parse(jsonOf(await set({ url, newSecret: true })));
      expect(rotated.secret).toMatch(/^whsec_/);
      expect(rotated.secret).not.toBe(secret);
      expect(JSON.stringify(await show())).not.toContain('whsec_');
    });

    it.each([
      { url: 'http://hooks.example.com/' },
      { url: 'https://localhost/' },
      { url: 'https://169.254.169.254/latest/meta-data/' },
      { url: 'https://[::ffff:169.254.169.254]/' },
      { url: 'https://hooks.example.com:8443/' },
      { url: 'https://user:pass@hooks.example.com/' },
      { url: 'x' },
      { url: 5 },
      {},
      { url, secret: 'mine' },
    ])('is not set to %j', async (body) => {
      expectProblem(await set(body), 422);
    });

    it('is told when 80 percent are reached, and says what became of it', {
      timeout: warnedWithinMs + 60_000,
    }, async () => {
      await push(api(), place, [objectOf(850)]);
      const { usage } = await subscriptionOf(api(), place.tenant, { query: '?refresh=true' });
      expect(usage?.storedBytes).toBe(850);
      await expect
        .poll(async () => (await show()).last, { timeout: warnedWithinMs, interval: 1000 })
        .toMatchObject({
          eventId: `${place.tenant}:1`,
          type: 'storage.threshold',
          outcome: 'failed',
          status: null,
          failure: 'name-not-found',
        });
    });

    it('is tested once in ten seconds', async () => {
      const test = () => api().manage('POST', `${path()}/test`);
      const answer = await test();
      expect(answer.status, answer.text).toBe(202);
      expect(jsonOf(answer)).toEqual({
        tenant: place.tenant,
        eventId: expect.stringMatching(new RegExp(`^${place.tenant}:test-`)),
      });
      const soon = await test();
      expectProblem(soon, 429);
      expect(soon.headers['retry-after']).toBe('10');
    });

    it("for usage is the operator's, and of no tenant", async () => {
      const ofUsage = (method: 'GET' | 'PUT' | 'DELETE', body?: object) =>
        api().manage(method, '/v1/usage/webhook', body);
      expectProblem(await ofUsage('PUT', { url: 'http://hooks.example.com/' }), 422);
      expect(bodyOf(await ofUsage('PUT', { url }), 201, withSecret).secret).toMatch(/^whsec_/);
      expect(bodyOf(await ofUsage('GET'), 200, webhookShape)).toMatchObject({ url, last: null });
      expectStatus(await ofUsage('DELETE'), 204);
      for (const method of ['GET', 'DELETE'] as const)
        expectProblem(await ofUsage(method), 404, /Usage has no/);
    });

    it("for all tenants is the operator's, has a secret of its own, and a test", async () => {
      const shared = (method: 'GET' | 'PUT' | 'DELETE', body?: object) =>
        api().manage(method, '/v1/webhook', body);
      const test = () => api().manage('POST', '/v1/webhook/test');
      for (const answer of [await shared('GET'), await shared('DELETE'), await test()])
        expectProblem(answer, 404, /The server has no/);
      expectProblem(await shared('PUT', { url: 'http://hooks.example.com/' }), 422);
      expect(bodyOf(await shared('PUT', { url }), 201, withSecret).secret).toMatch(/^whsec_/);
      expect(bodyOf(await shared('GET'), 200, webhookShape)).toMatchObject({ url });
      const tested = await test();
      expect([tested.status, jsonOf(tested)]).toEqual([
        202,
        { eventId: expect.stringMatching(/^ALL:test-/) },
      ]);
      expectProblem(await test(), 429);
      expectStatus(await shared('DELETE'), 204);
    });

    it('is removed', async () => {
      const removed = await api().as(bearer(api().target.adminToken), 'DELETE', path());
      expect(removed.status).toBe(204);
      expectProblem(await api().manage('GET', path()), 404);
    });
  });
}

/** All that the suite asks of this subject. */
export const alertsSubject: Subject = {
  callers: {
    'GET /v1/tenants/{tenant}/webhook': 'manager',
    'PUT /v1/tenants/{tenant}/webhook': 'manager',
    'DELETE /v1/tenants/{tenant}/webhook': 'manager',
    'POST /v1/tenants/{tenant}/webhook/test': 'manager',
    'GET /v1/webhook': 'operator',
    'PUT /v1/webhook': 'operator',
    'DELETE /v1/webhook': 'operator',
    'POST /v1/webhook/test': 'operator',
    'GET /v1/usage/webhook': 'operator',
    'PUT /v1/usage/webhook': 'operator',
    'DELETE /v1/usage/webhook': 'operator',
    'GET /v1/tenants/{tenant}/emails': 'manager',
    'POST /v1/tenants/{tenant}/emails': 'manager',
    'DELETE /v1/tenants/{tenant}/emails': 'manager',
    // The key of an e-mail's link is all that they look at.
    'POST /v1/emails/confirm': 'all',
    'POST /v1/emails/unsubscribe': 'all',
  },
  tests: webhookTests,
};
