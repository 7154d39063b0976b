import { describe, expect, it, vi } from 'vitest';
import { RequestLimits } from '../../../local/limits.ts';

function setUp(perSecond: number) {
  let nowMs = 1_000_000;
  const limits = new RequestLimits(perSecond, () => nowMs);
  return {
    /** How many of `count` requests are over the limit. */
    over: (count: number, address: string, credential?: string) =>
      Array.from({ length: count }, () => limits.retryAfterSeconds({ address, credential })).filter(
        (seconds) => seconds !== undefined,
      ).length,
    retryAfter: (address: string) => limits.retryAfterSeconds({ address, credential: undefined }),
    wait: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe('requests a second', () => {
  it('are counted over ten seconds, by address', () => {
    const { over, wait, retryAfter } = setUp(2);
    expect(over(20, '192.0.2.1')).toBe(0);
    expect(over(5, '192.0.2.1')).toBe(5);
    expect(over(20, '192.0.2.2')).toBe(0);
    wait(4_000);
    expect(retryAfter('192.0.2.1')).toBe(6);
    wait(6_000);
    expect(over(20, '192.0.2.1')).toBe(0);
  });

  it("aren't refused for longer if the machine's clock is set back", () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const limits = new RequestLimits(1);
    const retryAfter = () => limits.retryAfterSeconds({ address: '192.0.2.1', credential: undefined });
    retryAfter();
    vi.setSystemTime(Date.now() - 3_600_000);
    const answers = Array.from({ length: 30 }, retryAfter);
    vi.useRealTimers();
    expect(answers.some((seconds) => seconds !== undefined)).toBe(true);
    expect(answers.every((seconds = 0) => seconds <= 10)).toBe(true);
  });

  it('are counted by credential, from wherever they come', () => {
    const { over } = setUp(1);
    expect(over(5, '192.0.2.1', 'Basic one')).toBe(0);
    expect(over(6, '192.0.2.2', 'Basic one')).toBe(1);
    expect(over(4, '192.0.2.2', 'Basic two')).toBe(0);
  });

  it('are counted by the token of Git, with any user name', () => {
    const { over } = setUp(1);
    const basic = (user: string) => `Basic ${Buffer.from(`${user}:token`).toString('base64')}`;
    expect(over(5, '192.0.2.1', basic('ada'))).toBe(0);
    expect(over(6, '192.0.2.2', basic('bob'))).toBe(1);
  });

  it('are so many at a time, objects apart, until they have ended', () => {
    const limits = new RequestLimits(1, () => 0);
    const places = Array.from({ length: 64 }, () => limits.enter('192.0.2.1', 'api'));
    expect(places).not.toContain(undefined);
    expect(limits.enter('192.0.2.1', 'api')).toBeUndefined();
    expect(limits.enter('192.0.2.1', 'objects')).toBeDefined();
    expect(limits.enter('192.0.2.2', 'api')).toBeDefined();
    places[0]?.();
    expect(limits.enter('192.0.2.1', 'api')).toBeDefined();
  });

  it.each([
    ['2001:db8:0:1::1', '2001:db8::1:ffff:1:1:1'],
    ['2001:db8:1:2:3:4:5:6', '2001:0db8:0001:0002::'],
    ['::1', '::2'],
    ['fe80::1%eth0', 'fe80::2'],
  ])('from %s and %s are of one client', (first, second) => {
    const { over } = setUp(1);
    expect(over(10, first)).toBe(0);
    expect(over(1, second)).toBe(1);
  });

  it.each([
    ['2001:db8:0:1::1', '2001:db8:0:2::1'],
    ['2001:db8::', '2001:db9::'],
  ])('from %s and %s are of two', (first, second) => {
    const { over } = setUp(1);
    expect(over(10, first)).toBe(0);
    expect(over(10, second)).toBe(0);
  });

  it('stay counted, however many credentials one address makes up', () => {
    const { over } = setUp(1);
    expect(over(11, '192.0.2.1')).toBe(1);
    for (let index = 0; index < 110_000; index += 1) over(1, '192.0.2.2', `Bearer ${index}`);
    expect(over(1, '192.0.2.1')).toBe(1);
    expect(over(1, '192.0.2.2')).toBe(1);
  });

  it('from more addresses than are counted start anew, and stay few', () => {
    const { over } = setUp(1);
    expect(over(11, '192.0.2.1')).toBe(1);
    for (let index = 0; index < 100_000; index += 1) over(1, `name-${index}`);
    expect(over(1, '192.0.2.1')).toBe(0);
  });
});
