import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Alerts } from '../../../../../lambda/subjects/alerts/alert-store.ts';
import { deliverAlerts } from '../../../../../lambda/subjects/alerts/alerts.ts';
import type { AlertEvent } from '../../../../../lambda/subjects/alerts/rules/alerts.ts';
import type { WebhookSender } from '../../../../../lambda/subjects/alerts/rules/webhook-delivery.ts';
import {
  deliverToWebhook,
  setWebhook,
  testRestMs,
  testWebhook,
} from '../../../../../lambda/subjects/alerts/webhooks.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import {
  MemoryAlerts,
  MemoryWebhooks,
  recordingWebhookQueue,
} from '../../../../support/subjects/alerts/in-memory.ts';

describe('deliver to webhook', () => {
  const tenant = 'acme';
  const url = 'https://hooks.example.com/a';
  const event = {
    id: 'acme:7',
    type: 'storage.threshold',
    timestamp: '2026-11-21T05:00:00.000Z',
    data: { tenant, threshold: 80 },
  } as const;

  type Answer = Awaited<ReturnType<WebhookSender['post']>>;

  /** As the specification of Standard Webhooks has it, without the code that signs. */
  function isSignedBy(secret: string, posted: Parameters<WebhookSender['post']>[0]): boolean {
    const {
      'webhook-id': id,
      'webhook-timestamp': time,
      'webhook-signature': signatures = '',
    } = posted.headers;
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    const expected = createHmac('sha256', key).update([id, time, posted.body].join('.')).digest('base64');
    return signatures.split(' ').includes(`v1,${expected}`);
  }

  function world() {
    const clock = new ManualClock();
    const { log, entries } = recordingLog();
    const webhooks = new MemoryWebhooks();
    const { queue: webhookQueue, messages } = recordingWebhookQueue();
    const posted: Parameters<WebhookSender['post']>[0][] = [];
    const answers: Answer[] = [];
    const webhookSender: WebhookSender = {
      post: async (input) => {
        posted.push(input);
        return answers.shift() ?? { kind: 'answered', status: 204 };
      },
    };
    const deps = { ...memoryDeps({ clock, log, webhooks, webhookQueue }), webhookSender };
    const set = (more: { url?: string; isNewSecret?: boolean } = {}) =>
      setWebhook(deps, { tenant, url, isNewSecret: false, ...more });
    const deliver = (attempt = 1, type: 'storage.threshold' | 'webhook.test' = 'storage.threshold') =>
      deliverToWebhook(deps, { message: { tenant, event: { ...event, type } }, attempt });
    const last = async () => (await webhooks.read(tenant))?.last;
    return { clock, deps, entries, webhooks, messages, posted, answers, set, deliver, last };
  }

  describe('an event', () => {
    it('is sent with a signature that its secret verifies, and the outcome is noted', async () => {
      const { set, deliver, posted, last, clock, entries } = world();
      const { secret = '' } = await set();
      expect(await deliver()).toBe('done');
      const [sent] = posted;
      if (!sent) throw new Error('Nothing was sent.');
      expect(sent.url).toBe(url);
      expect(JSON.parse(sent.body)).toEqual({
        type: 'storage.threshold',
        timestamp: event.timestamp,
        data: event.data,
      });
      expect(sent.headers).toMatchObject({
        'webhook-id': 'acme:7',
        'webhook-timestamp': String(Math.floor(clock.nowMs() / 1000)),
      });
      expect(isSignedBy(secret, sent)).toBe(true);
      expect(isSignedBy(`${secret.slice(0, -4)}AAA=`, sent)).toBe(false);
      expect(isSignedBy(secret, { ...sent, body: `${sent.body} ` })).toBe(false);
      expect(await last()).toEqual({
        eventId: 'acme:7',
        type: 'storage.threshold',
        atMs: clock.nowMs(),
        attempt: 1,
        status: 204,
        failure: null,
        nextAtMs: null,
      });
      expect(JSON.stringify(entries)).not.toContain('whsec_');
      expect(JSON.stringify(entries)).not.toContain('hooks.example');
    });

    it.each([
      [
        { kind: 'answered', status: 500 },
        { status: 500, failure: 'status' },
      ],
      [
        { kind: 'answered', status: 302 },
        { status: 302, failure: 'status' },
      ],
      [
        { kind: 'failed', failure: 'timeout' },
        { status: null, failure: 'timeout' },
      ],
    ] as const)('that is answered by %j is sent again, later', async (answer, noted) => {
      const { set, deliver, answers, last, clock } = world();
      await set();
      answers.push(answer);
      expect(await deliver(2)).toEqual({ againMs: 300_000 });
      expect(await last()).toMatchObject({ attempt: 2, ...noted, nextAtMs: clock.nowMs() + 300_000 });
    });

    it.each([
      [199, false],
      [200, true],
      [299, true],
      [300, false],
    ])('that is answered with %i is delivered: %s', async (status, isDelivered) => {
      const { set, deliver, answers, last, entries } = world();
      await set();
      answers.push({ kind: 'answered', status });
      expect((await deliver()) === 'done').toBe(isDelivered);
      expect(await last()).toMatchObject({ status, failure: isDelivered ? null : 'status' });
      const fields = { tenant, eventId: 'acme:7', type: 'storage.threshold', attempt: 1, status };
      expect(entries).toEqual([
        isDelivered
          ? { level: 'info', message: 'webhook delivered', fields }
          : {
              level: 'warn',
              message: 'webhook not delivered',
              fields: { ...fields, failure: 'status', givenUp: false },
            },
      ]);
    });

    it('is given up after eight attempts, and that is said', async () => {
      const { set, deliver, answers, last, entries } = world();
      await set();
      for (let attempt = 1; attempt <= 8; attempt += 1) {
        answers.push({ kind: 'answered', status: 503 });
        expect((await deliver(attempt)) === 'done').toBe(attempt === 8);
      }
      expect(await last()).toMatchObject({ attempt: 8, status: 503, failure: 'status', nextAtMs: null });
      expect(entries.at(-1)).toMatchObject({ level: 'warn', fields: { givenUp: true } });
      expect(entries.at(-2)).toMatchObject({ level: 'warn', fields: { givenUp: false } });
    });

    it.each([
      ['a test', { kind: 'answered', status: 500 }, 'webhook.test'],
      [
        'one that the receiver does not want any more',
        { kind: 'answered', status: 410 },
        'storage.threshold',
      ],
    ] as const)('%s is sent once', async (_, answer, type) => {
      const { set, deliver, answers, last } = world();
      await set();
      answers.push(answer);
      expect(await deliver(1, type)).toBe('done');
      expect(await last()).toMatchObject({ failure: 'status', nextAtMs: null });
    });

    it('of a tenant without a webhook is not sent', async () => {
      const { deliver, posted } = world();
      expect(await deliver()).toBe('done');
      expect(posted).toEqual([]);
    });

    it('that was sent is not sent again because that could not be noted', async () => {
      const { set, deliver, webhooks, entries } = world();
      await set();
      webhooks.noteAttempt = async () => Promise.reject(new Error('The table is down.'));
      expect(await deliver()).toBe('done');
      expect(entries.at(-1)).toMatchObject({
        message: 'webhook attempt not noted',
        fields: { tenant, eventId: 'acme:7', error: expect.any(Error) },
      });
    });
  });

  describe('a webhook that is set', () => {
    it('gets a secret once, and keeps it when its address changes', async () => {
      const { set, webhooks, clock } = world();
      const first = await set();
      expect(first).toMatchObject({ isNew: true, secret: expect.stringMatching(/^whsec_/) });
      clock.advance(1000);
      const moved = await set({ url: 'https://b.example.com/' });
      expect(moved).toMatchObject({ isNew: false, secret: undefined });
      expect(await webhooks.read(tenant)).toMatchObject({
        url: 'https://b.example.com/',
        secret: first.secret,
        previousSecret: null,
        createdAtMs: clock.nowMs() - 1000,
        secretChangedAtMs: clock.nowMs() - 1000,
      });
    });

    it('signs with the old secret too for a day after a new one', async () => {
      const { set, deliver, posted, clock, webhooks } = world();
      const { secret: old = '' } = await set();
      clock.advance(1000);
      const { secret: next = '' } = await set({ isNewSecret: true });
      expect(next).not.toBe(old);
      const changed = { secret: next, previousSecret: old, secretChangedAtMs: clock.nowMs() };
      expect(await webhooks.read(tenant)).toMatchObject(changed);
      // Another address changes nothing of that.
      await set({ url: 'https://b.example.com/' });
      expect(await webhooks.read(tenant)).toMatchObject(changed);
      await deliver();
      clock.advance(86_400_000);
      await deliver();
      const by = (secret: string) => posted.map((each) => isSignedBy(secret, each));
      expect([by(old), by(next)]).toEqual([
        [true, false],
        [true, true],
      ]);
    });

    it('forgets the last attempt with its address, and not before', async () => {
      const { set, deliver, last, clock } = world();
      await set();
      await deliver();
      clock.advance(1);
      await set({ isNewSecret: true });
      expect(await last()).toMatchObject({ eventId: 'acme:7' });
      await set({ url: 'https://b.example.com/' });
      expect(await last()).toBeNull();
    });

    it('is tested once in ten seconds', async () => {
      const { deps, set, messages, clock } = world();
      expect(await testWebhook(deps, tenant)).toEqual({ kind: 'absent' });
      await set();
      const tested = await testWebhook(deps, tenant);
      if (tested.kind !== 'queued') throw new Error(tested.kind);
      expect(tested.eventId).toMatch(/^acme:test-[0-9A-Za-z]{12}$/);
      expect(messages).toEqual([
        {
          tenant,
          event: {
            id: tested.eventId,
            type: 'webhook.test',
            timestamp: new Date(clock.nowMs()).toISOString(),
            data: { tenant },
          },
        },
      ]);
      expect(await testWebhook(deps, tenant)).toEqual({ kind: 'too-soon' });
      clock.advance(testRestMs);
      expect((await testWebhook(deps, tenant)).kind).toBe('queued');
    });
  });
});

describe('hand over alerts', () => {
  const figures = { atMs: 1_800_000_000_000, storedBytes: 85, limitBytes: 100 };

  /** The same alerts, with some methods replaced. */
  function replacing(alerts: MemoryAlerts, methods: Partial<Alerts>): Alerts {
    return new Proxy<Alerts>(alerts, {
      get(target, name) {
        const replaced: unknown = Reflect.get(methods, name);
        const method = Reflect.get(target, name) as (...args: unknown[]) => unknown;
        return replaced ?? method.bind(target);
      },
    });
  }

  async function world() {
    const alerts = new MemoryAlerts();
    const { log, entries } = recordingLog();
    const published: AlertEvent[] = [];
    const failing = new Set<string>();
    const eventBus = {
      publish: async (events: readonly AlertEvent[]) => {
        if (events.some(({ data }) => failing.has(String(data['tenant']))))
          throw new Error('The bus is down.');
        published.push(...events);
      },
    };
    const { queue: webhookQueue, messages } = recordingWebhookQueue();
    const deps = { ...memoryDeps({ alerts, log, webhookQueue }), eventBus };
    const raise = async (tenant: string) => {
      const { threshold } = await alerts.read(tenant);
      const alert = {
        kind: 'threshold',
        ...figures,
        previousThreshold: threshold,
        threshold: threshold === 80 ? 0 : 80,
      } as const;
      expect(await alerts.crossThreshold({ tenant, epoch: 1, alert })).toBe('raised');
    };
    return {
      alerts,
      deps,
      raise,
      published,
      failing,
      entries,
      messages,
      run: () => deliverAlerts(deps),
    };
  }

  describe('alerts that were raised', () => {
    it('are handed over once, in their order', async () => {
      const { raise, run, published, entries, messages } = await world();
      expect(await run()).toBe(0);
      for (const tenant of ['acme', 'acme', 'other']) await raise(tenant);
      expect(await run()).toBe(3);
      expect(published.map(({ id }) => id)).toEqual(['acme:1', 'acme:2', 'other:1']);
      expect(entries.filter(({ message }) => message === 'alert')).toHaveLength(3);
      expect(await run()).toBe(0);
      await raise('acme');
      expect(await run()).toBe(1);
      expect(published.at(-1)?.id).toBe('acme:3');
      expect(messages).toEqual(published.map((event) => ({ tenant: event.data['tenant'], event })));
    });

    it('stay if they could not be handed over, and keep no other tenant from its own', async () => {
      const { raise, run, published, failing, entries } = await world();
      for (const tenant of ['acme', 'other']) await raise(tenant);
      failing.add('acme');
      expect(await run()).toBe(1);
      expect(published.map(({ id }) => id)).toEqual(['other:1']);
      expect(entries.filter(({ message }) => message === 'alerts not delivered')).toHaveLength(1);
      failing.clear();
      expect(await run()).toBe(1);
      expect(published.at(-1)?.id).toBe('acme:1');
    });

    it('are handed over again, with the same id, if whoever did it died before it was settled', async () => {
      const { deps, alerts, raise, published } = await world();
      await raise('acme');
      const dying = replacing(alerts, {
        settle: async () => Promise.reject(new Error('killed')),
      });
      expect(await deliverAlerts({ ...deps, alerts: dying })).toBe(0);
      expect(await deliverAlerts(deps)).toBe(1);
      expect(published.map(({ id }) => id)).toEqual(['acme:1', 'acme:1']);
      expect(await deliverAlerts(deps)).toBe(0);
    });

    it('that cannot be looked for, or of which the index tells late, do no harm', async () => {
      const { deps, alerts, raise, entries, published } = await world();
      await raise('acme');
      const broken = replacing(alerts, {
        listPending: async () => Promise.reject(new Error('The index is down.')),
      });
      expect(await deliverAlerts({ ...deps, alerts: broken })).toBe(0);
      expect(entries.map(({ message }) => message)).toEqual(['alerts not looked for']);
      const late = replacing(alerts, { listPending: async () => ['gone', 'acme'] });
      expect(await deliverAlerts({ ...deps, alerts: late })).toBe(1);
      expect(published).toHaveLength(1);
    });

    it('are looked for in a hundred tenants at a time', async () => {
      const { deps, alerts } = await world();
      const asked: object[] = [];
      const listPending = async (input: object) => {
        asked.push(input);
        return [];
      };
      expect(await deliverAlerts({ ...deps, alerts: replacing(alerts, { listPending }) })).toBe(0);
      expect(asked).toEqual([{ tenantsMax: 100 }]);
    });

    it('are logged, and so is what keeps them', async () => {
      const { deps, raise, run, failing, entries, alerts } = await world();
      const error = new Error('The index is down.');
      const broken = replacing(alerts, { listPending: () => Promise.reject(error) });
      await deliverAlerts({ ...deps, alerts: broken });
      await raise('acme');
      failing.add('acme');
      await run();
      failing.clear();
      await run();
      expect(entries).toMatchObject([
        { level: 'warn', message: 'alerts not looked for', fields: { error } },
        { level: 'warn', message: 'alerts not delivered', fields: { tenant: 'acme' } },
        {
          level: 'info',
          message: 'alert',
          fields: { tenant: 'acme', id: 'acme:1', type: 'storage.threshold', threshold: 80, storedBytes: 85 },
        },
      ]);
      expect(entries[1]?.fields['error']).toBeInstanceOf(Error);
      // Of an index that tells late, nothing is said.
      entries.length = 0;
      await deliverAlerts({
        ...deps,
        alerts: replacing(alerts, { listPending: async () => ['acme'] }),
      });
      expect(entries).toEqual([]);
    });
  });
});
