import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, basic, bearer, bodyOf, expectProblem, jsonOf } from './api.ts';
import { objectOf, objectsIn, type Place, pointer, postBatch, push } from './lfs.ts';
import { forecastShape, lastRefusalsShape, subscriptionOf } from './subscription.ts';

const time = z.iso.datetime();
const count = z.int().min(0);
const statusShape = z.strictObject({
  version: z.string().min(1),
  commit: z.string().nullable(),
  checkedAt: time,
  state: z.enum(['fine', 'act']),
  parts: z.array(
    z.strictObject({
      part: z.string(),
      state: z.enum(['fine', 'act', 'unknown']),
      says: z.string(),
      todo: z.string().nullable(),
    }),
  ),
  store: z.strictObject({
    kind: z.enum(['s3', 'external', 'embedded']),
    bucket: z.string(),
    endpoint: z.string().nullable(),
    latencyMs: count.nullable(),
  }),
  schedule: z.strictObject({ ranAt: time.nullable(), handedUntil: time.nullable() }).nullable(),
  overdue: z
    .strictObject({
      tenants: z.array(z.strictObject({ tenant: z.string(), dueAt: time })),
      more: z.boolean(),
    })
    .nullable(),
  queues: z.array(
    z.strictObject({
      queue: z.enum(['reconciles', 'webhooks', 'emails', 'exports', 'chunks', 'copies', 'store-events']),
      waiting: count,
      running: count,
      oldestAt: time.nullable(),
      deadLetters: count.nullable(),
      deadLettersAt: z.string().nullable(),
    }),
  ),
  failures: z
    .array(
      z.strictObject({
        kind: z.enum(['reconcile', 'export']),
        tenant: z.string(),
        exportId: z.string().optional(),
        failedAt: time,
        since: time,
        tries: z.int().min(1),
        why: z.string(),
        over: z.boolean(),
      }),
    )
    .nullable(),
});

/** What the operator sees at a glance. Who else may ask, and is refused: access.ts. */
export function statusTests(api: () => Api): void {
  describe('the status of the stage', () => {
    const read = async () => {
      const answer = await api().manage('GET', '/v1/status');
      expect(answer.status, answer.text).toBe(200);
      return { status: statusShape.parse(jsonOf(answer)), text: answer.text };
    };

    it('has store, own folders, schedule, tenants, queues and failures, each with what it says', async () => {
      const { status } = await read();
      const names = status.parts.map(({ part }) => part);
      const first = ['store', 'uncounted', 'schedule', 'tenants'];
      expect(names.filter((name) => name !== 'disk').slice(0, 4)).toEqual(first);
      expect(names).toEqual(expect.arrayContaining(['reconciles', 'webhooks', 'exports']));
      expect(names.at(-1)).toBe('failures');
      for (const { part, state, says, todo } of status.parts) {
        expect(says, part).toMatch(/^[A-Z].*[.!…]$/);
        expect([part, todo === null], says).toEqual([part, state === 'fine']);
      }
      expect(status.state).toBe(status.parts.every(({ state }) => state === 'fine') ? 'fine' : 'act');
      expect(Math.abs(Date.parse(status.checkedAt) - Date.now())).toBeLessThan(120_000);
    });

    it('has reached them all: the store answers, and each queue tells how full it is', async () => {
      const { status } = await read();
      expect(status.parts.filter(({ state }) => state === 'unknown')).toEqual([]);
      expect(status.parts[0], JSON.stringify(status.parts[0])).toMatchObject({
        part: 'store',
        state: 'fine',
      });
      expect(status.store.latencyMs).toBeGreaterThanOrEqual(0);
      expect(status.queues.map(({ queue }) => queue)).toEqual(
        expect.arrayContaining(['reconciles', 'webhooks', 'exports']),
      );
      expect([status.schedule === null, status.overdue === null, status.failures === null]).toEqual([
        false,
        false,
        false,
      ]);
    });

    it('shows no secret', async () => {
      const { text } = await read();
      expect(text).not.toContain(api().target.adminToken);
      expect(text).not.toMatch(/secret|lfsq_|X-Amz|AKIA|credential(?!s)/i);
    });

    it('takes no parameters, and can only be read', async () => {
      expectProblem(await api().manage('GET', '/v1/status?part=store'), 422);
      for (const method of ['POST', 'DELETE', 'PUT'])
        expect((await api().manage(method, '/v1/status')).headers['allow']).toBe('GET');
    });
  });
}

/** A reconcile may have to wait for the one before. */
const waitTimeoutMs = 120_000;

const historyShape = z.strictObject({
  tenant: z.string(),
  limitBytes: z.number().nullable(),
  from: z.iso.date(),
  to: z.iso.date(),
  days: z.array(
    z.strictObject({
      day: z.iso.date(),
      storedBytes: z.number(),
      objectCount: z.number(),
      maxStoredBytes: z.number(),
      maxUsedBytes: z.number(),
      limitBytes: z.number().nullable().optional(),
      refusals: z.number(),
      repoRefusals: z.number(),
      downloads: z.strictObject({ bytes: z.number(), objects: z.number() }).nullable(),
      carried: z.boolean(),
    }),
  ),
  forecast: forecastShape,
  lastRefusals: lastRefusalsShape,
});

/** What was stored on each day. */
export function historyTests(api: () => Api): void {
  describe('the history', () => {
    const [small, large] = [objectOf(300), objectOf(5000)];
    let place: Place;
    const pathOf = (tenant: string, query = '') => `/v1/tenants/${tenant}/history${query}`;
    const read = async (query = '', tenant = place.tenant) => {
      return bodyOf(await api().manage('GET', pathOf(tenant, query)), 200, historyShape);
    };
    const refresh = () => subscriptionOf(api(), place.tenant, { query: '?refresh=true' });

    beforeAll(async () => {
      place = await api().newPlace({ limitBytes: 1000 });
    });

    it('of a new tenant is one day with nothing', async () => {
      const { days, forecast, limitBytes, from, to } = await read();
      expect(days).toMatchObject([
        {
          day: to,
          storedBytes: 0,
          maxStoredBytes: 0,
          maxUsedBytes: 0,
          limitBytes: 1000,
          refusals: 0,
          carried: true,
        },
      ]);
      expect(from < to).toBe(true);
      expect([forecast.reason, limitBytes]).toEqual(['too-few-days', 1000]);
    });

    it('has what was pushed, pulled and refused today', { timeout: waitTimeoutMs }, async () => {
      await push(api(), place, [small]);
      const body = { operation: 'download', objects: [pointer(small)] };
      objectsIn(await postBatch(api(), place, body, basic(place.readToken)));
      const refused = { operation: 'upload', objects: [pointer(large)] };
      const { token } = await api().newToken(place.tenant, { scope: 'write', user: 'ada' });
      const [told] = objectsIn(await postBatch(api(), place, refused, basic(token)));
      const { usage } = await refresh();
      expect(usage?.storedBytes).toBe(300);
      // Nobody waits for the write of a refusal.
      await expect.poll(async () => (await read()).days.at(-1)?.refusals, { timeout: 60_000 }).toBe(1);
      const { days, to } = await read();
      expect(days.at(-1)).toEqual({
        day: to,
        storedBytes: 300,
        objectCount: 1,
        maxStoredBytes: 300,
        maxUsedBytes: 300,
        limitBytes: 1000,
        refusals: 1,
        repoRefusals: 0,
        downloads: { bytes: 300, objects: 1 },
        carried: false,
      });
      // The same number as git shows.
      expect(told?.error?.message).toContain(' 3.91 KiB short.');
      const { lastRefusals } = await read();
      expect(lastRefusals).toEqual([
        {
          at: expect.any(String),
          repo: 'game',
          user: 'ada',
          files: 1,
          atLeast: false,
          bytes: 5000,
          shortBytes: 4000,
          limit: 'tenant',
        },
      ]);
      expect((await subscriptionOf(api(), place.tenant)).lastRefusals).toEqual(lastRefusals);
      expect((await read(`?from=${to}&to=${to}`)).days).toEqual(days.slice(-1));
      expect((await read('?to=2020-01-01')).days).toEqual([]);
      expect((await read('?from=0001-01-01&to=9999-12-31')).to).toBe(to);
    });

    it('has the forecast that the subscription has', async () => {
      const { forecast } = await subscriptionOf(api(), place.tenant);
      expect((await read()).forecast).toEqual(forecast);
      const limit = (limitBytes: number | null) =>
        api().manage('PATCH', `/v1/tenants/${place.tenant}`, { limitBytes });
      await limit(300);
      const { forecast: full, to } = await read();
      expect(full).toEqual({ fullOn: to, reason: null, bytesPerDay: null });
      await limit(null);
      expect((await read()).forecast).toEqual({ fullOn: null, reason: 'unlimited', bytesPerDay: null });
    });

    it.each(['from=2026-13-01', 'from=2026-02-30', 'to=yesterday', 'from=', 'days=5'])(
      'is not read by %s',
      async (query) => {
        expectProblem(await api().manage('GET', pathOf(place.tenant, `?${query}`)), 422);
      },
    );
  });
}

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
export function webhookTests(api: () => Api): void {
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

    it('is removed', async () => {
      const removed = await api().as(bearer(api().target.adminToken), 'DELETE', path());
      expect(removed.status).toBe(204);
      expectProblem(await api().manage('GET', path()), 404);
    });
  });
}
