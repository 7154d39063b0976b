import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FlatPlan, planFlat, repoOfKey } from '../../../../lambda/domain/flat-listing.ts';
import { compareKeys } from '../../../../lambda/rules/names.ts';

const ranges = (plan: FlatPlan) => plan.ranges.map(({ after, until, requests }) => [after, until, requests]);

describe('a flat listing', () => {
  it('of few small repos is one range', () => {
    const plan = planFlat([
      { repo: 'a', objectCount: 3 },
      { repo: 'b', objectCount: 999 },
      { repo: 'new', objectCount: undefined },
    ]);
    expect(ranges(plan)).toEqual([[null, null, 2]]);
    expect([plan.large, plan.requests]).toEqual([new Set(), 2]);
  });

  it('of nothing is one request', () => {
    expect(planFlat([])).toMatchObject({ requests: 1, ranges: [{ after: null, until: null }] });
  });

  it('leaves out repos that fill a page, in the order of their keys', () => {
    const plan = planFlat([
      { repo: 'app', objectCount: 1000 },
      { repo: 'app-x', objectCount: 5 },
      { repo: 'app.y', objectCount: 70_000 },
    ]);
    // '-' and '.' sort before the slash.
    expect(ranges(plan)).toEqual([
      [null, 'app.y/', 1],
      ['app.y/~', 'app/', 1],
      ['app/~', null, 1],
    ]);
    expect(plan.large).toEqual(new Set(['app', 'app.y']));
  });

  it('has no range of its own for what lies beside the folders, however much that is', () => {
    const plan = planFlat([
      { repo: '', objectCount: 1500 },
      { repo: 'a', objectCount: 400 },
    ]);
    expect(ranges(plan)).toEqual([[null, null, 2]]);
    expect(plan.large).toEqual(new Set());
  });

  it('has ranges of 2,000 objects or more, which end behind a repo', () => {
    const plan = planFlat([
      { repo: 'd', objectCount: 1 },
      { repo: 'c', objectCount: 999 },
      { repo: 'b', objectCount: 999 },
      { repo: 'a', objectCount: 2 },
    ]);
    expect(ranges(plan)).toEqual([
      [null, 'c/~', 2],
      ['c/~', null, 1],
    ]);
    expect(plan.requests).toBe(3);
  });

  it('takes a repo of unknown size for ten objects', () => {
    const unknown = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ repo: `r${100 + index}`, objectCount: undefined }));
    expect(planFlat(unknown(100))).toMatchObject({ requests: 1, large: new Set() });
    expect(planFlat(unknown(101)).requests).toBe(2);
  });

  it('of 20,000 repos of 3 objects has 8 ranges and less than 70 requests', () => {
    const repos = Array.from({ length: 20_000 }, (_, index) => ({ repo: `r${index}`, objectCount: 3 }));
    const plan = planFlat(repos);
    expect(plan.ranges).toHaveLength(8 + 1);
    expect(plan.ranges.map(({ requests }) => requests)).toEqual([...Array(8).fill(8), 1]);
    expect(plan.requests).toBe(8 * 8 + 1);
  });

  it('covers every key outside of the large repos exactly once', () => {
    const name = fc.stringMatching(/^[-.a-c]{0,3}$/);
    const sized = fc.uniqueArray(
      fc.record({ repo: name, objectCount: fc.constantFrom(undefined, 0, 5, 900, 1000, 5000) }),
      { selector: ({ repo }) => repo },
    );
    const key = fc
      .tuple(name, fc.constantFrom('', '/', '/0', '/ff', '/~', '/é'))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(sized, key, (repos, listed) => {
        const plan = planFlat(repos);
        const holding = plan.ranges.filter(
          ({ after, until }) =>
            (after === null || compareKeys(listed, after) > 0) &&
            (until === null || compareKeys(listed, until) <= 0),
        );
        if (plan.large.has(repoOfKey(listed))) expect(holding.length).toBeLessThanOrEqual(1);
        else expect(holding).toHaveLength(1);
      }),
      { numRuns: 2000 },
    );
  });
});

it.each([
  ['app/0f', 'app'],
  ['app/x/y', 'app'],
  ['app/', 'app'],
  ['beside', ''],
  ['/x', ''],
  ['', ''],
])('the key %j belongs to the repo %j', (key, repo) => {
  expect(repoOfKey(key)).toBe(repo);
});
