import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { type Answer, type Api, basic, expectProblem, jsonOf } from './api.ts';
import { objectOf, push } from './lfs.ts';

const sum = z.strictObject({ objectCount: z.int(), bytes: z.int() });
const cleanupShape = z.strictObject({
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
const keepSet = { objects: 0, sha256 };

function expectCode(answer: Answer, [status, code]: readonly [number, string]): void {
  expectProblem(answer, status);
  expect(jsonOf(answer)).toMatchObject({ code });
}

/** A clean-up up to the day that it has to wait. What follows takes a shorter one: test/e2e/gc.test.ts. */
export function cleanupTests(api: () => Api): void {
  const object = objectOf(10);
  let tenant: string;
  let own: Awaited<ReturnType<Api['newTenant']>>;

  const pathOf = (repo = 'game') => `/v1/tenants/${tenant}/repos/${repo}/cleanup`;
  const manage = (method: string, path = pathOf(), body?: object) => api().manage(method, path, body);
  const read = (answer: Awaited<ReturnType<typeof manage>>, status: number) => {
    expect(answer.status, answer.text).toBe(status);
    return cleanupShape.parse(jsonOf(answer));
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
      ['POST', `${pathOf()}/keep-set`, keepSet],
      ['POST', `${pathOf()}/run`, { keepSet }],
    ] as const)
      expectCode(await manage(method, path, body), [404, 'cleanup-not-found']);
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
    const early = [409, 'cleanup-too-early'] as const;
    expectCode(await manage('POST', `${pathOf()}/keep-set`, keepSet), early);
    expectCode(await manage('POST', `${pathOf()}/run`, { keepSet }), early);
  });

  it.each([
    ['keep-set', { objects: -1, sha256 }],
    ['keep-set', { objects: 5_000_001, sha256 }],
    ['keep-set', { objects: 1, sha256: 'AB' }],
    ['keep-set', { ...keepSet, more: 1 }],
    ['run', {}],
    ['run', { keepSet, dryRun: 'no' }],
    ['run', { keepSet, minAgeDays: -1 }],
    ['run', { keepSet, minAgeDays: 0.5 }],
    ['run', { keepSet, minAgeDays: 3651 }],
  ])('refuses a %s of %j', async (route, body) => {
    expectCode(await manage('POST', `${pathOf()}/${route}`, body), [422, 'invalid-body']);
  });

  it('is no affair of whoever may only push', async () => {
    const { token } = await api().newToken(tenant, { scope: 'write' });
    const answer = await api().as(basic(token), 'GET', pathOf());
    expectCode(answer, [403, 'scope-too-small']);
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
    if (again.status !== 201) expectCode(again, [409, 'cleanup-ending']);
  });
}
