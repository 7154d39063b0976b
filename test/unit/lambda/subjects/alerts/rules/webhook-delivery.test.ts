import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  isWebhookUrl,
  nextDelayMs,
  secretsOf,
  type Webhook,
  webhookHeaders,
  webhookSecret,
  webhookUrlRule,
} from '../../../../../../lambda/subjects/alerts/rules/webhook-delivery.ts';

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
    expect(webhookUrlRule).toMatch(/up to 2048 characters .*https, on port 443, with a domain name/);
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
