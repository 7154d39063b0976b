import { beforeAll, describe, expect, it } from 'vitest';
import { routes } from '../../lambda/routes.ts';
import { type Answer, type Api, basic, comparable, expectStatus, jsonOf, type TestTenant } from './api.ts';
import { admitted, lfsHeaders, newOid, objectOf, pointer, postBatch, push, serves } from './lfs.ts';
import type { Subject } from './subject.ts';
import * as subjects from './subjects.ts';

/** Names that sort before, between and after those that the token is for. */
const foreignRepos = ['a-layoffs', 'game-merger', 'zz-secret'];
const ownRepos = ['game', 'own'];
const pagesMax = 60;

/** Every route that reads something of a tenant, the lists of the LFS API among them. */
const reads = routes.filter(({ method, path }) => method === 'GET' && path.includes('{tenant}'));

/** They show a repo once it's counted. */
const seenLate = ['subscription', 'history'].filter((name) => reads.some(({ path }) => path.endsWith(name)));

const withPlaces = Object.values<Subject>(subjects).flatMap(({ places, lists = [] }) =>
  places ? [{ places, lists }] : [],
);
const listsWithPlaces = withPlaces.flatMap(({ lists }) => lists);

/** What a token for some repos can learn of others: nothing, on any page of any list. */
export function limitedTokenTests(api: () => Api): void {
  describe('a token for some repos', () => {
    let own: TestTenant;
    let limited: Record<string, string>;
    let whole: Record<string, string>;
    const foreign: string[] = [...foreignRepos];

    const get = (path: string, headers: Record<string, string>) =>
      api().send({ method: 'GET', path, headers: { ...lfsHeaders, ...headers } });
    const pathOf = (path: string, repo = 'game') =>
      path
        .replace('{tenant}', own.tenant)
        .replace('{repo}', repo)
        .replaceAll(/\{(\w+)\}/g, (_, name) => '0'.repeat(name === 'exportId' ? 24 : 16));

    beforeAll(async () => {
      own = await api().newTenant({ limitBytes: 100_000 });
      const { tenant } = own;
      limited = basic((await api().newToken(tenant, { scope: 'read', repos: ownRepos })).token);
      whole = basic(own.readToken);
      for (const repo of [...foreignRepos, ...ownRepos]) {
        const place = { ...own, repo };
        const [kept, gone] = [objectOf(10), objectOf(20)];
        await push(api(), place, [kept, gone]);
        const puller = await api().newToken(tenant, { scope: 'read' });
        await postBatch(
          api(),
          place,
          { operation: 'download', objects: [pointer(kept)] },
          basic(puller.token),
        );
        await admitted(api(), place, { oid: newOid(), size: 5 });
        await postBatch(api(), place, { operation: 'upload', objects: [{ oid: newOid(), size: 200_000 }] });
        for (const subject of Object.values<Subject>(subjects)) await subject.leaves?.(api(), place);
        expectStatus(
          await api().manage('DELETE', `/v1/tenants/${tenant}/repos/${repo}/objects/${gone.oid}`),
          202,
        );
        if (foreignRepos.includes(repo)) foreign.push(puller.tokenId, kept.oid, gone.oid);
      }
      // All places of the tenant are taken by what the token may not see.
      for (const { places } of withPlaces)
        foreign.push(...(await places.fill(api(), { tenant, repos: foreignRepos })));
    });

    /** The answers to a list, page by page, or to what is none. */
    async function pagesOf(path: string, headers: Record<string, string>): Promise<Answer[]> {
      const answers: Answer[] = [];
      const [bare = '', query = ''] = path.split('?');
      let cursor: string | null | undefined;
      do {
        const more = cursor ? [`cursor=${encodeURIComponent(cursor)}`] : [];
        const answer = await get([bare, [query, ...more].join('&')].join('?'), headers);
        answers.push(answer);
        const { nextCursor, next_cursor } = (answer.text ? jsonOf(answer) : {}) as Record<string, string>;
        cursor = nextCursor ?? next_cursor;
        expect(answers.length, path).toBeLessThan(pagesMax);
      } while (cursor);
      return answers;
    }

    it.each(reads)('learns nothing of others from $path', async ({ path }) => {
      for (const query of ['', '?limit=1', '?limit=2']) {
        for (const answer of await pagesOf(pathOf(path) + query, limited))
          expect([path, query, foundIn(answer, foreign)]).toEqual([path, query, []]);
      }
    });

    it.each(reads)('cannot tell by $path whether a repo exists', async ({ path }) => {
      for (const name of foreignRepos) {
        const of = (repo: string) =>
          path.includes('{repo}') ? pathOf(path, repo) : `${pathOf(path)}?repo=${repo}&limit=1`;
        const [foreignAnswer, absent] = [await get(of(name), limited), await get(of('not-there'), limited)];
        expect(comparable(foreignAnswer)).toEqual(comparable(absent));
      }
    });

    it('misses nothing of its own, which others see too', async () => {
      // What the tests above would find. On a deployed stack, a reconcile shows the repos later.
      const seen = async (path: string, names: readonly string[]) =>
        foundIn(await get(`/v1/tenants/${own.tenant}/${path}`, whole), names);
      const names = [...foreignRepos, ...ownRepos.map((repo) => `"${repo}"`)];
      await expect.poll(() => seen('repos', names), { timeout: 60_000 }).toEqual(names);
      for (const path of seenLate)
        await expect.poll(() => seen(path, foreignRepos), { timeout: 60_000 }).not.toEqual([]);
      const shown = new Set<string>();
      for (const { path } of reads) {
        const [mine, all] = [
          await pagesOf(`${pathOf(path)}?limit=1`, limited),
          await pagesOf(`${pathOf(path)}?limit=1`, whole),
        ];
        if (all.some((answer) => foundIn(answer, foreign).length > 0))
          shown.add(path.split('/').at(-1) ?? '');
        for (const repo of ownRepos) {
          const has = (answers: Answer[]) => answers.some(({ text }) => text.includes(`"${repo}"`));
          if (all[0]?.status === 200 && mine[0]?.status === 200)
            expect([path, repo, has(mine)]).toEqual([path, repo, has(all)]);
        }
      }
      expect([...shown].sort()).toEqual(
        expect.arrayContaining(
          [...(serves('downloads') ? ['downloads'] : []), 'repos', 'reservations', ...listsWithPlaces].sort(),
        ),
      );
    });

    it('is not told who takes all places', async () => {
      for (const { places } of withPlaces) {
        const answer = await places.ask(api(), { tenant: own.tenant, repo: 'game' }, limited);
        expect(foundIn(answer, foreign)).toEqual([]);
      }
    });

    it('does not get the names of others by a cursor of its own making', async () => {
      const hex = (text: string) => `c${Buffer.from(text).toString('hex')}`;
      const today = new Date().toISOString().slice(0, 10);
      for (const cursor of [
        hex('a'),
        hex(`${'0'.repeat(32)}#a-layoffs`),
        hex(`${today}#a#0`),
        hex('f'.repeat(24)),
      ])
        for (const { path } of reads) {
          const answer = await get(`${pathOf(path)}?limit=1&cursor=${cursor}`, limited);
          expect([path, foundIn(answer, foreign)]).toEqual([path, []]);
        }
    });
  });
}

/** Which secrets an answer has, in its body or head, as they are or encoded. */
function foundIn({ text, headers }: Answer, secrets: readonly string[]): string[] {
  const all = `${text}\n${JSON.stringify(headers)}`;
  const decoded = [...all.matchAll(/[0-9A-Za-z+/_-]{8,}/g)].flatMap(([word]) =>
    [0, 1, 2, 3].flatMap((skipped) => {
      const rest = word.slice(skipped);
      return [Buffer.from(rest, 'hex').toString('latin1'), Buffer.from(rest, 'base64').toString('latin1')];
    }),
  );
  const haystack = [all, ...decoded].join('\n');
  return secrets.filter((secret) => haystack.includes(secret));
}
