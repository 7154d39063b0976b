import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isWebhookUrl,
  levelAfter,
  nextDelayMs,
  secretsOf,
  type WarningLevel,
  type Webhook,
  warningEvent,
  webhookHeaders,
  webhookSecret,
  webhookUrlRule,
} from '../../../../../lambda/extras/rules/warnings.ts';

const levelOf = (before: WarningLevel, storedBytes: number, limitBytes: number | null = 100) =>
  levelAfter({ before, storedBytes, limitBytes });

describe('the level of a tenant', () => {
  it.each([
    [0, 79, 0],
    [0, 80, 80],
    [0, 89, 80],
    [0, 90, 90],
    [0, 150, 90],
    [80, 80, 80],
    [80, 75, 80],
    [80, 74, 0],
    [80, 90, 90],
    [80, 0, 0],
    [90, 90, 90],
    [90, 85, 90],
    [90, 84, 80],
    [90, 75, 80],
    [90, 74, 0],
    [90, 0, 0],
  ] as const)('from %i with %i %% is %i', (before, percent, expected) => {
    expect(levelOf(before, percent)).toBe(expected);
  });

  it('is 0 without a limit, and the highest with a limit of 0 as soon as something is stored', () => {
    expect(levelOf(90, 1e15, null)).toBe(0);
    expect(levelOf(0, 0, 0)).toBe(0);
    expect(levelOf(0, 1, 0)).toBe(90);
    expect(levelOf(90, 0, 0)).toBe(0);
  });

  it('is exact for the largest numbers', () => {
    const limit = 2 ** 53 - 1;
    expect(levelOf(0, Math.floor(limit * 0.79), limit)).toBe(0);
    expect(levelOf(0, Math.ceil(limit * 0.81), limit)).toBe(80);
    expect(levelOf(0, limit, limit)).toBe(90);
  });

  it('settles at once: the same count changes it no further', () => {
    const levels = fc.constantFrom<WarningLevel>(0, 80, 90);
    fc.assert(
      fc.property(levels, fc.nat(200), fc.nat(200), (before, stored, limit) => {
        const once = levelOf(before, stored, limit);
        expect(levelOf(once, stored, limit)).toBe(once);
      }),
    );
  });

  it('does not go up and down while the count moves by less than five points', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 78, max: 82 }), { maxLength: 50 }), (percents) => {
        let level: WarningLevel = 0;
        let changes = 0;
        for (const percent of percents) {
          const next = levelOf(level, percent);
          changes += next === level ? 0 : 1;
          level = next;
        }
        expect(changes).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('an event', () => {
  const figures = { atMs: Date.UTC(2026, 10, 21, 5), storedBytes: 85, limitBytes: 100 };

  it('has an id, a type and what happened', () => {
    const warning = { kind: 'level', ...figures, level: 80, previousLevel: 0 } as const;
    expect(warningEvent('acme', { seq: 7, warning })).toEqual({
      id: 'acme:7',
      type: 'storage.level',
      timestamp: '2026-11-21T05:00:00.000Z',
      data: { tenant: 'acme', level: 80, previousLevel: 0, storedBytes: 85, limitBytes: 100 },
    });
    expect(warningEvent('acme', { seq: 8, warning: { kind: 'full', ...figures } })).toMatchObject({
      id: 'acme:8',
      type: 'storage.full',
      data: { tenant: 'acme', storedBytes: 85, limitBytes: 100 },
    });
  });
});

describe('the headers of a webhook', () => {
  it('are those of the example of Standard Webhooks', () => {
    // From the reference implementations' tests, as their libraries sign it.
    const headers = webhookHeaders({
      secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestampSeconds: 1614265330,
      body: '{"test": 2432232314}',
    });
    expect(headers).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('have a signature for each secret, by the bytes that the secret stands for', () => {
    const secrets = [webhookSecret('a'.repeat(42)), webhookSecret('b'.repeat(42))];
    const { 'webhook-signature': signature = '' } = webhookHeaders({
      secrets,
      id: 'acme:1',
      timestampSeconds: 5,
      body: '{}',
    });
    const expected = ['a', 'b'].map(
      (letter) => `v1,${createHmac('sha256', letter.repeat(42)).update('acme:1.5.{}').digest('base64')}`,
    );
    expect(signature).toBe(expected.join(' '));
    expect(secrets[0]).toMatch(/^whsec_[A-Za-z0-9+/=]{56}$/);
  });
});

describe('the secret before the last change', () => {
  const webhook: Webhook = {
    url: 'https://a.example.com/',
    secret: 'whsec_new',
    previousSecret: 'whsec_old',
    createdAtMs: 0,
    secretChangedAtMs: 1000,
    last: null,
  };
  const day = 86_400_000;

  it('signs too for a day', () => {
    expect(secretsOf(webhook, 1000)).toEqual(['whsec_new', 'whsec_old']);
    expect(secretsOf(webhook, 999 + day)).toEqual(['whsec_new', 'whsec_old']);
    expect(secretsOf(webhook, 1000 + day)).toEqual(['whsec_new']);
    expect(secretsOf({ ...webhook, previousSecret: null }, 1000)).toEqual(['whsec_new']);
  });
});

describe('an attempt that failed', () => {
  const delays = (more: { status?: number | null; isTest?: boolean } = {}) =>
    Array.from({ length: 9 }, (_, index) =>
      nextDelayMs({ attempt: index + 1, status: 500, isTest: false, ...more }),
    );

  it('is followed by others, eight in all within 24 hours', () => {
    const all = delays();
    const given = all.filter((delayMs) => delayMs !== undefined);
    expect(given).toHaveLength(7);
    expect(all.slice(7)).toEqual([undefined, undefined]);
    expect(given[0]).toBe(5000);
    expect(given).toEqual([...given].sort((a, b) => a - b));
    const hours = given.reduce((sum, ms) => sum + ms, 0) / 3_600_000;
    expect(hours).toBeGreaterThan(23);
    expect(hours).toBeLessThanOrEqual(24);
    // SQS hides a message for 12 hours at most.
    expect(Math.max(...given)).toBeLessThan(12 * 3_600_000);
  });

  it('is the last of a test, and to a receiver that is gone', () => {
    expect(delays({ isTest: true })).toEqual(Array(9).fill(undefined));
    expect(delays({ status: 410 })).toEqual(Array(9).fill(undefined));
    expect(delays({ status: null })[0]).toBe(5000);
  });
});

describe('the URL of a webhook', () => {
  it.each([
    ['a host', 'https://hooks.example.com/ https://example.com https://a.example.com./x'],
    ['its port, a path and a query', 'https://hooks.example.com:443/a?b=c'],
    ['letters of others', 'https://bücher.example/a'],
  ])('may have %s: %s', (_what, urls) => {
    for (const url of urls.split(' ')) expect([url, isWebhookUrl(url)]).toEqual([url, true]);
  });

  it.each([
    [
      'no scheme or another',
      'example.com http://hooks.example.com/ ftp://hooks.example.com/ javascript:alert(1)',
    ],
    ['another port', 'https://hooks.example.com:8443/'],
    ['a user or a password', 'https://user@hooks.example.com/ https://:secret@hooks.example.com/'],
    ['a fragment', 'https://hooks.example.com/#part'],
    ['a name of this network', 'https://localhost/ https://intranet/ http://localhost:9000/'],
    ['a name that is none', 'https://a*b.example.com/ https://example.c*m/ https://example.7a/'],
    ['an address', 'https://127.0.0.1/ https://93.184.216.34/ http://127.0.0.1:9000/'],
    ['an address in disguise', 'https://2130706433/ https://0x7f.1/ https://0177.0.0.1/'],
    ['an address of IPv6', 'https://[::1]/ https://[2606:2800:220:1::1]/'],
  ])('cannot have %s: %s', (_what, urls) => {
    for (const url of urls.split(' ')) expect([url, isWebhookUrl(url)]).toEqual([url, false]);
  });

  it('may be of 2048 characters, and its rule says so', () => {
    expect(webhookUrlRule).toMatch(/at most 2048 characters .*https, on port 443, with a domain name/);
    const start = 'https://hooks.example.com/';
    expect(isWebhookUrl(start.padEnd(2048, 'a'))).toBe(true);
    expect(isWebhookUrl(start.padEnd(2049, 'a'))).toBe(false);
    expect(isWebhookUrl('')).toBe(false);
  });

  it('may be this machine only if that is allowed', () => {
    const allowed = (url: string) => isWebhookUrl(url, { allowsLoopback: true });
    expect(allowed('http://127.0.0.1:9000/hook')).toBe(true);
    expect(allowed('http://[::1]:9000/')).toBe(true);
    expect(allowed('https://hooks.example.com/')).toBe(true);
    const others = [
      'http://10.0.0.1/',
      'http://localhost:9000/',
      'https://127.0.0.1/',
      'http://u@127.0.0.1/',
    ];
    for (const url of others) expect(allowed(url), url).toBe(false);
  });
});
