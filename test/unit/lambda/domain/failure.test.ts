import { describe, expect, it } from 'vitest';
import { type Failure, keptFailuresMax, withFailureNoted } from '../../../../lambda/domain/failure.ts';

const failure = (tenant: string, atMs: number, more: Partial<Failure> = {}): Failure => ({
  kind: 'recount',
  tenant,
  atMs,
  sinceMs: atMs,
  tries: 1,
  why: 'store',
  ...more,
});

describe('the failures that are kept', () => {
  it('are the newest, the newest first', () => {
    let kept: readonly Failure[] = [];
    for (let at = 1; at <= keptFailuresMax + 5; at += 1) kept = withFailureNoted(kept, failure(`t${at}`, at));
    expect(kept.map(({ atMs }) => atMs)).toEqual(
      Array.from({ length: keptFailuresMax }, (_, index) => keptFailuresMax + 5 - index),
    );
  });

  it('have one for each recount, which goes on since its first try', () => {
    const first = withFailureNoted([failure('b', 5)], failure('a', 10));
    const second = withFailureNoted(first, failure('a', 20, { tries: 2, why: 'table' }));
    expect(second).toEqual([failure('a', 20, { tries: 2, why: 'table', sinceMs: 10 }), failure('b', 5)]);
    // Another message, which begins anew.
    const anew = withFailureNoted(second, failure('a', 30));
    expect(anew[0]).toEqual(failure('a', 30));
    expect(withFailureNoted(anew, failure('a', 40))[0]).toEqual(failure('a', 40));
  });

  it('tell exports and recounts of one tenant from each other', () => {
    const exported = failure('a', 2, { kind: 'export', exportId: 'e1', why: 'export' });
    const kept = [exported, { ...exported, exportId: 'e2', atMs: 3 }].reduce(withFailureNoted, [
      failure('a', 1),
    ]);
    expect(kept.map(({ kind, exportId }) => [kind, exportId])).toEqual([
      ['export', 'e2'],
      ['export', 'e1'],
      ['recount', undefined],
    ]);
  });

  it('are not changed by one that arrives late', () => {
    const kept = [failure('a', 20, { tries: 3, sinceMs: 1 })];
    expect(withFailureNoted(kept, failure('a', 19, { tries: 2 }))).toEqual(kept);
    const inTheSameMs = failure('a', 20, { tries: 4, sinceMs: 20 });
    expect(withFailureNoted(kept, inTheSameMs)).toEqual([{ ...inTheSameMs, sinceMs: 1 }]);
  });

  it('stay in order when one arrives late', () => {
    const kept = withFailureNoted([failure('c', 30), failure('a', 10)], failure('b', 20));
    expect(kept.map(({ tenant }) => tenant)).toEqual(['c', 'b', 'a']);
  });
});
