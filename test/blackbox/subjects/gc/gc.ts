import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Answer, type Api, basic, expectProblem, jsonOf } from '../../api.ts';
import { objectOf, push } from '../../lfs.ts';
import type { Subject } from '../../subject.ts';

const sum = z.strictObject({ objectCount: z.int(), bytes: z.int() });
const gcShape = z.strictObject({
  tenant: z.string(),
  repo: z.string(),
  state: z.enum(['watching', 'selecting', 'deleting', 'done', 'cancelled', 'expired']),
  openedAt: z.iso.datetime(),
  snapshotFrom: z.iso.datetime(),
  mayRun: z.boolean(),
  watchEndsAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
  run: z.null(),
  found: z.null(),
  failure: z.null(),
  deleted: sum,
});

const dayMs = 24 * 60 * 60 * 1000;
const sha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const reachableSet = { objects: 0, sha256 };

function expectCode(answer: Answer, [status, code]: readonly [number, string]): void {
  expectProblem(answer, status);
  expect(jsonOf(answer)).toMatchObject({ code });
}

/** A gc run up to the day that it has to wait. What follows takes a shorter one: test/e2e/gc.test.ts. */
function gcTests(api: () => Api): void {
  const object = objectOf(10);
  let tenant: string;
  let own: Awaited<ReturnType<Api['newTenant']>>;

  const pathOf = (repo = 'game') => `/v1/tenants/${tenant}/repos/${repo}/gc`;
  const manage = (method: string, path = pathOf(), body?: object) => api().manage(method, path, body);
  const read = (answer: Awaited<ReturnType<typeof manage>>, status: number) => {
    expect(answer.status, answer.text).toBe(status);
    return gcShape.parse(jsonOf(answer));
  };

  beforeAll(async () => {
    own = await api().newTenant();
    ({ tenant } = own);
    await push(api(), { ...own, repo: 'game' }, [object]);
  });

  it('is not there before it was opened', async () => {
    for (const [method, path, body] of [
      ['GET', pathOf()],
      ['DELETE', pathOf()],
      ['POST', `${pathOf()}/reachable-set`, reachableSet],
      ['POST', `${pathOf()}/run`, { reachableSet }],
    ] as const)
      expectCode(await manage(method, path, body), [404, 'gc-not-found']);
  });

  it('cannot be opened where there is nothing', async () => {
    expectCode(await manage('POST', pathOf('nothing'), {}), [404, 'repo-not-found']);
  });

  it('is open for a day before it may run, and for a month at most', async () => {
    const opened = read(await manage('POST', pathOf('game.git'), {}), 201);
    expect(opened).toMatchObject({ tenant, repo: 'game', state: 'watching', mayRun: false, endedAt: null });
    const times = [opened.openedAt, opened.snapshotFrom, opened.watchEndsAt].map((time) => Date.parse(time));
    const [openedMs = 0, fromMs = 0, endMs = 0] = times;
    expect([fromMs - openedMs, endMs - openedMs]).toEqual([dayMs, 30 * dayMs]);
    expect(read(await manage('POST', pathOf(), {}), 201)).toEqual(opened);
    expect(read(await manage('GET'), 200)).toEqual(opened);
  });

  it('takes no snapshot before that', async () => {
    const early = [409, 'gc-too-early'] as const;
    expectCode(await manage('POST', `${pathOf()}/reachable-set`, reachableSet), early);
    expectCode(await manage('POST', `${pathOf()}/run`, { reachableSet }), early);
  });

  it.each([
    ['reachable-set', { objects: -1, sha256 }],
    ['reachable-set', { objects: 5_000_001, sha256 }],
    ['reachable-set', { objects: 1, sha256: 'AB' }],
    ['reachable-set', { ...reachableSet, more: 1 }],
    ['run', {}],
    ['run', { reachableSet, dryRun: 'no' }],
    ['run', { reachableSet, minAgeDays: -1 }],
    ['run', { reachableSet, minAgeDays: 0.5 }],
    ['run', { reachableSet, minAgeDays: 3651 }],
  ])('refuses a %s of %j', async (route, body) => {
    expectCode(await manage('POST', `${pathOf()}/${route}`, body), [422, 'invalid-body']);
  });

  it('is no affair of whoever may only push', async () => {
    const { token } = await api().newToken(tenant, { scope: 'write' });
    const answer = await api().as(basic(token), 'GET', pathOf());
    expectCode(answer, [403, 'scope-too-small']);
  });

  it('is for tokens with the scope gc, but not by force', async () => {
    const { token } = await api().newToken(tenant, { scope: 'gc', repos: ['game'] });
    const as = (method: string, path: string, body?: object) => api().as(basic(token), method, path, body);
    expect(read(await as('GET', pathOf()), 200)).toMatchObject({ state: 'watching' });
    const forced = await as('POST', `${pathOf()}/run`, { reachableSet, force: true });
    expectCode(forced, [403, 'scope-too-small']);
    expectCode(await as('POST', `${pathOf()}/run`, { reachableSet }), [409, 'gc-too-early']);
    expectCode(await as('GET', pathOf('other')), [404, 'repo-not-found']);
    expectCode(await as('GET', `/v1/tenants/${tenant}/tokens`), [403, 'scope-too-small']);
  });

  it('lets pushes go on meanwhile', async () => {
    const more = objectOf(20);
    await push(api(), { ...own, repo: 'game' }, [more]);
  });

  it('is cancelled, and the next one waits until it has ended', async () => {
    const cancelled = read(await manage('DELETE'), 200);
    expect(cancelled).toMatchObject({ state: 'cancelled', mayRun: false });
    expect(cancelled.endedAt).not.toBeNull();
    expect(read(await manage('DELETE'), 200)).toEqual(cancelled);
    const again = await manage('POST', pathOf(), {});
    // Unless it has ended by now.
    if (again.status !== 201) expectCode(again, [409, 'gc-ending']);
  });
}

/** All that the suite asks of this subject. */
export const gcSubject: Subject = {
  callers: {
    'GET /v1/tenants/{tenant}/repos/{repo}/gc': 'collector',
    'POST /v1/tenants/{tenant}/repos/{repo}/gc': 'collector',
    'DELETE /v1/tenants/{tenant}/repos/{repo}/gc': 'collector',
    'POST /v1/tenants/{tenant}/repos/{repo}/gc/reachable-set': 'collector',
    'POST /v1/tenants/{tenant}/repos/{repo}/gc/run': 'collector',
  },
  tests: (api) => {
    describe('gc runs', () => gcTests(api));
  },
};
