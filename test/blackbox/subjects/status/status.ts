import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { queueNames, queueSpecs } from '../../../../lambda/routes.ts';
import { type Api, expectProblem, jsonOf } from '../../api.ts';
import type { Subject } from '../../subject.ts';

/** Those that every stage has. */
const queues = queueNames.filter((name) => queueSpecs[name].onlyWith === undefined);

const time = z.iso.datetime();
const count = z.int().min(0);
const statusShape = z.strictObject({
  version: z.string().min(1),
  commit: z.string().nullable(),
  checkedAt: time,
  state: z.enum(['fine', 'act']),
  parts: z.array(
    z.strictObject({
      part: z.string(),
      state: z.enum(['fine', 'act', 'unknown']),
      says: z.string(),
      todo: z.string().nullable(),
    }),
  ),
  store: z.strictObject({
    kind: z.enum(['s3', 'external', 'embedded']),
    bucket: z.string(),
    endpoint: z.string().nullable(),
    latencyMs: count.nullable(),
  }),
  schedule: z.strictObject({ ranAt: time.nullable(), handedUntil: time.nullable() }).nullable(),
  overdue: z
    .strictObject({
      tenants: z.array(z.strictObject({ tenant: z.string(), dueAt: time })),
      more: z.boolean(),
    })
    .nullable(),
  queues: z.array(
    z.strictObject({
      queue: z.enum(['reconciles', 'webhooks', 'emails', 'exports', 'chunks', 'copies', 'store-events']),
      waiting: count,
      running: count,
      oldestAt: time.nullable(),
      deadLetters: count.nullable(),
      deadLettersAt: z.string().nullable(),
    }),
  ),
  failures: z
    .array(
      z.strictObject({
        kind: z.enum(['reconcile', 'export']),
        tenant: z.string(),
        exportId: z.string().optional(),
        failedAt: time,
        since: time,
        tries: z.int().min(1),
        why: z.string(),
        over: z.boolean(),
      }),
    )
    .nullable(),
});

/** What the operator sees at a glance. Who else may ask, and is refused: access.ts. */
function statusTests(api: () => Api): void {
  describe('the status of the stage', () => {
    const read = async () => {
      const answer = await api().manage('GET', '/v1/status');
      expect(answer.status, answer.text).toBe(200);
      return { status: statusShape.parse(jsonOf(answer)), text: answer.text };
    };

    it('has store, own folders, schedule, tenants, queues and failures, each with what it says', async () => {
      const { status } = await read();
      const names = status.parts.map(({ part }) => part);
      const first = ['store', 'uncounted', 'schedule', 'tenants'];
      expect(names.filter((name) => name !== 'disk').slice(0, 4)).toEqual(first);
      expect(names).toEqual(expect.arrayContaining(queues));
      expect(names.at(-1)).toBe('failures');
      for (const { part, state, says, todo } of status.parts) {
        expect(says, part).toMatch(/^[A-Z].*[.!…]$/);
        expect([part, todo === null], says).toEqual([part, state === 'fine']);
      }
      expect(status.state).toBe(status.parts.every(({ state }) => state === 'fine') ? 'fine' : 'act');
      expect(Math.abs(Date.parse(status.checkedAt) - Date.now())).toBeLessThan(120_000);
    });

    it('has reached them all: the store answers, and each queue tells how full it is', async () => {
      const { status } = await read();
      expect(status.parts.filter(({ state }) => state === 'unknown')).toEqual([]);
      expect(status.parts[0], JSON.stringify(status.parts[0])).toMatchObject({
        part: 'store',
        state: 'fine',
      });
      expect(status.store.latencyMs).toBeGreaterThanOrEqual(0);
      expect(status.queues.map(({ queue }) => queue)).toEqual(expect.arrayContaining(queues));
      expect([status.schedule === null, status.overdue === null, status.failures === null]).toEqual([
        false,
        false,
        false,
      ]);
    });

    it('shows no secret', async () => {
      const { text } = await read();
      expect(text).not.toContain(api().target.adminToken);
      expect(text).not.toMatch(/secret|lfsq_|X-Amz|AKIA|credential(?!s)/i);
    });

    it('takes no parameters, and can only be read', async () => {
      expectProblem(await api().manage('GET', '/v1/status?part=store'), 422);
      for (const method of ['POST', 'DELETE', 'PUT'])
        expect((await api().manage(method, '/v1/status')).headers['allow']).toBe('GET');
    });
  });
}

/** All that the suite asks of this subject. */
export const statusSubject: Subject = {
  callers: {
    'GET /v1/status': 'operator',
  },
  tests: (api) => {
    describe('status', () => statusTests(api));
  },
};
