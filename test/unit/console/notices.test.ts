import { describe, expect, it } from 'vitest';
import { noticeOf } from '../../../console/src/notices.ts';
import { tokenIn } from '../../../console/src/text.ts';
import type { SubscriptionBody } from '../../../lambda/contract.ts';

const nowMs = Date.parse('2026-11-21T14:30:00Z');
const refusal = {
  at: '2026-11-21T14:12:00Z',
  repo: 'game',
  user: 'mira',
  files: 46,
  atLeast: false,
  bytes: 100,
  shortBytes: 50,
  limit: 'tenant',
} as const;

function body(change: { stored?: number; limit?: number | null; repo?: number; refusals?: object[] }) {
  const { stored = 500, limit = 1000, repo = 400, refusals = [] } = change;
  return {
    tenant: 'acme',
    limitBytes: limit,
    usage: { storedBytes: stored, reservedBytes: 0, objectCount: 1 },
    forecast: { fullOn: '2026-12-04', reason: null, bytesPerDay: 9 },
    repos: [{ repo: 'game', storedBytes: repo, limitBytes: 450 }],
    lastRefusals: refusals,
  } as unknown as SubscriptionBody;
}

const kindOf = (of: SubscriptionBody) => noticeOf(of, nowMs)?.kind;

describe('the one notice', () => {
  it.each([
    ['nothing', body({}), undefined],
    ['nothing without a limit', body({ limit: null, stored: 5000 }), undefined],
    ['what is left', body({ stored: 900 }), 'near'],
    ['that nothing is left', body({ stored: 1000 }), 'near'],
    ['what is beyond the limit', body({ stored: 1001 }), 'over'],
    ['a rejected push before what is left', body({ stored: 950, refusals: [refusal] }), 'rejected'],
    ['what is beyond the limit before a rejected push', body({ stored: 1001, refusals: [refusal] }), 'over'],
    [
      'a push that a repo’s limit rejected',
      body({ limit: null, refusals: [{ ...refusal, limit: 'repo' }] }),
      'rejected',
    ],
  ])('is %s', (_what, of, expected) => {
    expect(kindOf(of)).toBe(expected);
  });

  it('of a rejected push ends with the day (UTC)', () => {
    const yesterday = { ...refusal, at: '2026-11-20T23:59:59Z' };
    expect(kindOf(body({ refusals: [yesterday] }))).toBeUndefined();
    expect(kindOf(body({ stored: 950, refusals: [yesterday] }))).toBe('near');
  });

  it.each([
    ['there is no space for it', { stored: 901 }, 'rejected'],
    ['space was freed', { stored: 900 }, 'near'],
    ['the limit was raised', { stored: 950, limit: 1050 }, 'near'],
    ['there is no limit any more', { stored: 950, limit: null }, undefined],
    ['something was pushed since', { stored: 951 }, 'near'],
  ])('of a rejected push, when %s', (_what, now, expected) => {
    expect(kindOf(body({ ...now, refusals: [refusal] }))).toBe(expected);
  });

  it('of a push that a repo’s limit rejected ends with space in the repo', () => {
    const refusals = [{ ...refusal, limit: 'repo' }];
    expect(kindOf(body({ repo: 351, refusals }))).toBe('rejected');
    expect(kindOf(body({ repo: 350, refusals }))).toBeUndefined();
  });

  it('is the newest rejected push that is not answered, with the number of Git’s message', () => {
    const other = { ...refusal, at: '2026-11-21T14:20:00Z', repo: 'art', bytes: 57, shortBytes: 7 };
    const notice = noticeOf(body({ stored: 950, refusals: [other, refusal] }), nowMs);
    expect(notice).toEqual({ kind: 'rejected', refusal: other });
  });
});

describe('a token that is pasted', () => {
  const token = 'lfsq_abcDEF123';
  it.each([
    token,
    ` ${token}\n`,
    `mira:${token}@lfs.example.com`,
    `https://mira:${token}@lfs.example.com/acme/game/info/lfs`,
    `http://mira:${token}@127.0.0.1:8787`,
    `https://${token}@lfs.example.com`,
    `https://:${token}@lfs.example.com`,
  ])('is found in %j', (pasted) => {
    expect(tokenIn(pasted)).toBe(token);
  });

  it('is what it is, if it has a colon or an at sign', () => {
    expect(tokenIn('a:b')).toBe('a:b');
    expect(tokenIn('a@b')).toBe('a@b');
    // A header takes no other characters.
    expect(tokenIn('lfsq_ä1')).toBe('lfsq_1');
  });
});
