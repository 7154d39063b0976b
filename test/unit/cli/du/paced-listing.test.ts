import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Pace, PacedListing } from '../../../../cli/du/paced-listing.ts';
import { StoreAnswerError } from '../../../../lambda/core/store/http-exchange.ts';
import { translateStoreError } from '../../../../lambda/core/store/object-store.ts';
import type { ListedPage } from '../../../../lambda/core/store/rules/store.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const page: ListedPage = {
  keyCount: 0,
  totalBytes: 0,
  isTruncated: false,
  nextContinuationToken: undefined,
  keyAt: () => '',
  sizeAt: () => 0,
  lastModifiedMsAt: () => undefined,
  etagAt: () => '',
};

const answers = {
  'slow down': () => new StoreAnswerError({ status: 503, code: 'SlowDown', message: 'Reduce your rate.' }),
  broken: () => new StoreAnswerError({ status: 500, code: 'InternalError', message: 'We failed.' }),
  forbidden: () => new StoreAnswerError({ status: 403, code: 'AccessDenied', message: 'No.' }),
  gone: () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
};
type Answer = keyof typeof answers | 'page';

const minuteMs = 60_000;

/** A listing of a store that answers as `answerOf` says, by the minute since the test began. */
function listingOf(answerOf: (minute: number, prefix: string) => Answer) {
  const startMs = performance.now();
  const listing = {
    listPage: async ({ prefix }: { prefix: string }) => {
      const answer = answerOf((performance.now() - startMs) / minuteMs, prefix);
      if (answer === 'page') return page;
      throw translateStoreError(answers[answer](), 'LIST');
    },
  };
  return new PacedListing({ listing, pace: new Pace() });
}

/** What a page of a prefix ends with, and after how many minutes; undefined if it has not ended after two hours. */
async function ending(listing: PacedListing, prefix = 'a') {
  const startMs = performance.now();
  let ended: { result: string; minutes: number } | undefined;
  const end = (result: string) => {
    ended = { result, minutes: (performance.now() - startMs) / minuteMs };
  };
  listing.listPage({ prefix }).then(
    () => end('page'),
    (error: Error) => end(error.message),
  );
  await vi.advanceTimersByTimeAsync(120 * minuteMs);
  return ended;
}

describe('before the first page has arrived', () => {
  it.each(['slow down', 'broken'] as const)('a store that is %s is given up soon', async (answer) => {
    const listing = listingOf(() => answer);
    const { result, minutes } = (await ending(listing)) ?? { result: '', minutes: 0 };
    expect(result).toMatch(/The store did not serve LIST \(50[03]/);
    expect(minutes).toBeLessThan(2);
    expect(listing.requests).toBe(10);
  });

  it('an address where nobody listens is given up at once', async () => {
    const listing = listingOf(() => 'gone');
    expect(await ending(listing)).toMatchObject({ result: expect.stringContaining('did not serve LIST') });
    expect(listing.requests).toBe(3);
  });
});

describe('once pages have arrived', () => {
  const served = async (listing: PacedListing) => {
    expect(await listing.listPage({ prefix: 'first' })).toBe(page);
    return listing;
  };

  it.each(['slow down', 'broken', 'gone'] as const)('eight minutes of "%s" end nothing', async (answer) => {
    const listing = await served(
      listingOf((minute, prefix) => (prefix === 'first' || minute > 8 ? 'page' : answer)),
    );
    expect(await ending(listing)).toMatchObject({ result: 'page' });
  });

  it('a page that is told to slow down is asked for as long as others arrive', async () => {
    const listing = await served(
      listingOf((minute, prefix) =>
        prefix === 'b' || minute > 110 || prefix === 'first' ? 'page' : 'slow down',
      ),
    );
    const others = setInterval(() => void listing.listPage({ prefix: 'b' }), minuteMs);
    expect(await ending(listing)).toMatchObject({ result: 'page' });
    clearInterval(others);
    expect(listing.throttled).toBeGreaterThan(100);
  });

  it('a store that serves nothing for ten minutes is given up', async () => {
    const listing = await served(listingOf((_, prefix) => (prefix === 'first' ? 'page' : 'slow down')));
    const { result, minutes } = (await ending(listing)) ?? { result: '', minutes: 0 };
    expect(result).toBe('No page arrived for 10 minutes.');
    expect(minutes).toBeGreaterThanOrEqual(10);
    expect(minutes).toBeLessThan(11);
  });

  it('a page that fails for ten minutes in another way is given up, although others arrive', async () => {
    const listing = await served(listingOf((_, prefix) => (prefix === 'a' ? 'broken' : 'page')));
    const others = setInterval(() => void listing.listPage({ prefix: 'b' }), minuteMs);
    expect(await ending(listing)).toMatchObject({ result: 'A page failed again and again for 10 minutes.' });
    clearInterval(others);
  });

  it('a refusal is not tried again', async () => {
    const listing = await served(listingOf((_, prefix) => (prefix === 'first' ? 'page' : 'forbidden')));
    expect(await ending(listing)).toMatchObject({ result: expect.stringContaining('403') });
    expect(listing.requests).toBe(2);
  });
});
