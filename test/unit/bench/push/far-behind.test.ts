import { expect, it } from 'vitest';
import { isFarBehind, measuredOnceBecause } from '../../../../bench/push/far-behind.ts';
import type { Phase } from '../../../../bench/push/sample.ts';

const push = (wallMs: number) => new Map<Phase, { wallMs: number }>([['push', { wallMs }]]);
const peer = { isPeer: true };

it('a peer whose push takes more than three times the bound is far behind', () => {
  expect(isFarBehind(peer, push(3001), push(1000))).toBe(true);
  expect(isFarBehind(peer, push(3000), push(1000))).toBe(false);
});

it('nobody else is, and nobody where there is nothing to compare with', () => {
  expect(isFarBehind({ isPeer: false }, push(9000), push(1000))).toBe(false);
  expect(isFarBehind(peer, push(9000), undefined)).toBe(false);
  expect(isFarBehind(peer, push(9000), new Map())).toBe(false);
});

it('the note says what, where and why', () => {
  expect(measuredOnceBecause({ case: '1 × 1 KB', latency: 'on', server: 'slow 1.0' })).toBe(
    "slow 1.0 was measured once for 1 × 1 KB, latency on: its push took more than 3 times the bound's.",
  );
});
