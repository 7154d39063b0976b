import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Api, jsonOf } from './api.ts';
import { expectProblem } from './errors.ts';
import { newOid } from './lfs.ts';
import { subscriptionOf } from './subscription.ts';

const countShape = z.strictObject({
  repo: z.string(),
  kind: z.enum(['first', 'recount', 'rolling']),
  state: z.enum(['running', 'paused']),
  progress: z
    .strictObject({
      share: z.number(),
      objectCount: z.number(),
      listRequests: z.number(),
      objectsPerSecond: z.number().nullable(),
      secondsLeft: z.number().nullable(),
      beganAt: z.iso.datetime(),
      updatedAt: z.iso.datetime(),
    })
    .nullable(),
});
const countPage = z.strictObject({ counts: z.array(countShape), nextCursor: z.string().nullable() });

type Count = z.output<typeof countShape>;

const waitMs = 120_000;
const putsAtOnce = 16;

/** How the count of a giant repo is shown, paused, given up, asked for again and resumed. */
export function countTests(api: () => Api): void {
  const repo = 'footage';
  let tenant: string;
  let objectCount: number;

  const path = (of = repo) => `/v1/tenants/${tenant}/repos/${of}/count`;
  const change = (state: string, of = repo) => api().manage('PATCH', path(of), { state });
  const changed = async (state: string): Promise<Count> => {
    const answer = await change(state);
    expect(answer.status, answer.text).toBe(200);
    return countShape.parse(jsonOf(answer));
  };
  const counts = async (): Promise<readonly Count[]> => {
    const answer = await api().manage('GET', `/v1/tenants/${tenant}/counts`);
    expect(answer.status, answer.text).toBe(200);
    return countPage.parse(jsonOf(answer)).counts;
  };
  const recount = async () => {
    const answer = await api().manage('POST', `/v1/tenants/${tenant}/reconcile`);
    expect(answer.status, answer.text).toBe(202);
  };
  /** Waits until the count of the repo is as expected. */
  const untilCount = async (isExpected: (count: Count | undefined) => boolean): Promise<Count> => {
    for (const endMs = Date.now() + waitMs; ; await sleep(250)) {
      const [count] = await counts();
      if (count && isExpected(count)) return count;
      if (Date.now() > endMs) throw new Error(`The count is ${JSON.stringify(count)}.`);
    }
  };
  const untilObjects = async (expected: number) => {
    for (const endMs = Date.now() + waitMs; ; await sleep(250)) {
      const { usage } = await subscriptionOf(api(), tenant);
      if (usage?.objectCount === expected) return;
      if (Date.now() > endMs) throw new Error(`The usage is ${JSON.stringify(usage)}.`);
    }
  };
  const put = () => {
    const { putObject } = api().target;
    if (!putObject) throw new Error('Nobody can put objects around the API.');
    return putObject(`${tenant}/${repo}/${newOid()}`, Buffer.from('7 bytes'));
  };
  const isSkipped = () => api().target.giantObjects === undefined || api().target.putObject === undefined;

  describe('the count of a giant repo', () => {
    beforeAll(async () => {
      ({ tenant } = await api().newTenant());
      objectCount = api().target.giantObjects ?? 0;
    });

    it('is refused for a repo that is none', async () => {
      expectProblem(await change('paused', 'other'), 404);
      expectProblem(await change('paused', '..'), 404);
      expectProblem(await change('ended'), 422);
      expect(await counts()).toEqual([]);
    });

    it('begins once it has many objects, and ends', { timeout: 4 * waitMs }, async ({ skip }) => {
      if (isSkipped()) return skip();
      let left = objectCount;
      const worker = async () => {
        while (left > 0) {
          left -= 1;
          await put();
        }
      };
      await Promise.all(Array.from({ length: putsAtOnce }, worker));
      await recount();
      await untilObjects(objectCount);
      await recount();
      const count = await untilCount((found) => found?.kind === 'rolling');
      expect(count).toEqual({ repo, kind: 'rolling', state: 'running', progress: null });
      await untilObjects(objectCount);
    });

    it('can be given up while it is paused, and usage stays', { timeout: 4 * waitMs }, async ({ skip }) => {
      if (isSkipped()) return skip();
      expect(await changed('paused')).toMatchObject({ state: 'paused', progress: null });
      await put();
      await recount();
      const paused = await untilCount((found) => found?.kind === 'recount');
      expect(paused).toMatchObject({
        state: 'paused',
        progress: { share: 0, objectCount: 0, listRequests: 0, secondsLeft: null },
      });
      expect(await changed('cancelled')).toEqual({ repo, kind: 'rolling', state: 'paused', progress: null });
      await untilObjects(objectCount);
    });

    it('is overtaken by another, and counts all when it is resumed', { timeout: 4 * waitMs }, async ({
      skip,
    }) => {
      if (isSkipped()) return skip();
      await recount();
      const first = await untilCount((found) => found?.kind === 'recount');
      await changed('cancelled');
      await sleep(1100);
      await recount();
      const second = await untilCount((found) => found?.kind === 'recount');
      expect(Date.parse(second.progress?.beganAt ?? '')).toBeGreaterThan(
        Date.parse(first.progress?.beganAt ?? ''),
      );
      expect(await changed('running')).toMatchObject({ state: 'running' });
      await untilCount((found) => found?.kind === 'rolling');
      await untilObjects(objectCount + 1);
    });
  });
}
