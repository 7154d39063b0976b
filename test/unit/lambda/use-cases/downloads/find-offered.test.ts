import { beforeEach, describe, expect, it } from 'vitest';
import { findOffered } from '../../../../../lambda/use-cases/downloads/find-offered.ts';
import { CountingDeps } from '../../../../support/memory/counting-deps.ts';

const [tenant, repo] = ['acme', 'app'];
const oidOf = (index: number) => `${index.toString(16).padStart(4, '0')}${'0'.repeat(60)}`;
const range = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);

describe('a pull of many objects', () => {
  let made: CountingDeps;
  const put = (indexes: readonly number[], path = `${tenant}/${repo}`) => {
    for (const index of indexes) made.store.put(`${path}/${oidOf(index)}`, 5 + index);
  };
  const ask = async (indexes: readonly number[], more: { repo?: string; repoObjects?: number } = {}) => {
    made.calls.length = 0;
    const question = { tenant, repo, repoObjects: 300, oids: indexes.map(oidOf), ...more };
    const { result } = await made.measure(() => findOffered(made.deps, question));
    const count = (name: string) => made.calls.filter((call) => call.name === name).length;
    return { sizes: [...result.values()], lists: count('LIST'), heads: count('HEAD') };
  };

  beforeEach(() => {
    made = new CountingDeps({ tableMs: 10, headMs: 10, listMs: 10 });
    put(range(0, 300));
  });

  it('lists the repo once, though it asks for a hundred after the other', async () => {
    expect(await ask(range(0, 100))).toMatchObject({ lists: 1, heads: 0 });
    for (const from of [100, 200]) {
      const { sizes, ...requests } = await ask(range(from, 100));
      expect(sizes).toEqual(range(from, 100).map((index) => 5 + index));
      expect(requests).toEqual({ lists: 0, heads: 0 });
    }
    expect(await ask([7])).toEqual({ sizes: [12], lists: 0, heads: 0 });
  });

  it('asks again for what that listing had not, and after a minute for everything', async () => {
    await ask(range(0, 100));
    put([300]);
    expect(await ask([...range(280, 20), 300, 301])).toMatchObject({ lists: 0, heads: 2 });
    expect((await ask([300, 301])).sizes).toEqual([305]);
    expect(await ask(range(400, 50))).toEqual({ sizes: [], lists: 1, heads: 0 });
    await made.advance(60_001);
    expect(await ask(range(0, 100))).toMatchObject({ lists: 1, heads: 0 });
  });

  it('is never answered from the listing of another repo', async () => {
    await ask(range(0, 100));
    put([1], `${tenant}/other`);
    expect(await ask(range(0, 20), { repo: 'other', repoObjects: 1 })).toEqual({
      sizes: [6],
      lists: 1,
      heads: 0,
    });
  });

  it('keeps nothing of a repo with very many objects, of a part of one, or of one that was asked by HEAD', async () => {
    await ask(range(0, 10));
    expect(await ask(range(0, 10))).toMatchObject({ heads: 10 });
    expect(await ask(range(0, 280), { repoObjects: 20_001 })).toMatchObject({ lists: 0, heads: 280 });
    put(range(300, 1200));
    expect((await ask(range(0, 20), { repoObjects: 0 })).lists).toBe(1);
    expect((await ask(range(0, 20), { repoObjects: 0 })).lists).toBe(1);
  });
});
