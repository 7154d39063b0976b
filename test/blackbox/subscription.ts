import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { z } from 'zod';
import { type Api, bearer, jsonOf } from './api.ts';

const instant = z.iso.datetime();

/** Null: not counted yet. */
export const repoShape = z.strictObject({
  repo: z.string(),
  limitBytes: z.number().nullable(),
  storedBytes: z.number().nullable(),
  objectCount: z.number().nullable(),
  scannedAt: instant.nullable(),
  kind: z.literal('files').optional(),
  before: z.strictObject({ day: z.iso.date(), storedBytes: z.number() }).optional(),
  weeks: z.array(z.number().nullable()).optional(),
  deleting: z.literal(true).optional(),
  uploading: z.literal(true).optional(),
});

const subscription = z.strictObject({
  tenant: z.string(),
  plan: z.string().nullable(),
  limitBytes: z.number().nullable(),
  downloadLimitBytes: z.number().nullable(),
  reposMustExist: z.boolean(),
  usage: z
    .strictObject({
      storedBytes: z.number(),
      objectCount: z.number(),
      reservedBytes: z.number(),
      reservedUntil: instant.nullable(),
      committedBytes: z.number(),
      scannedAt: instant,
      olderThanYear: z.strictObject({ bytes: z.number(), at: instant }).optional(),
      source: z.enum(['cache', 'scan']),
    })
    .nullable(),
  // Of those who know past days: their tests look at them.
  forecast: z.looseObject({}).optional(),
  lastRefusals: z.array(z.looseObject({})).optional(),
  repos: z.array(repoShape),
  refreshing: z.boolean(),
  deleting: z.literal(true).optional(),
});

/** Of what is far away it takes longer. */
export const scannedWithinDefaultMs = 30_000;

type SubscriptionAnswer = z.output<typeof subscription>;

/** Asks for a subscription, by default as the operator. */
export async function subscriptionOf(
  api: Api,
  tenant: string,
  more: { query?: string; headers?: Record<string, string> } = {},
): Promise<SubscriptionAnswer> {
  const path = `/v1/tenants/${tenant}/subscription${more.query ?? ''}`;
  const headers = more.headers ?? bearer(api.target.adminToken);
  const untilMs = Date.now() + (api.target.scannedWithinMs ?? scannedWithinDefaultMs);
  const read = () => api.send({ method: 'GET', path, headers });
  let answer = await read();
  // On a busy machine a scan takes longer than its reader waits.
  while (answer.status === 202 && Date.now() < untilMs) {
    await sleep(500);
    answer = await read();
  }
  expect(answer.status, answer.text).toBe(200);
  expect(answer.headers['content-type']).toBe('application/json');
  return subscription.parse(jsonOf(answer));
}
