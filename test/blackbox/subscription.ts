import { expect } from 'vitest';
import { z } from 'zod';
import { type Api, bearer, jsonOf } from './api.ts';
import type { Answer } from './exchange.ts';

const instant = z.iso.datetime();

const subscription = z.strictObject({
  tenant: z.string(),
  plan: z.string().nullable(),
  limitBytes: z.number().nullable(),
  usage: z
    .strictObject({
      storedBytes: z.number(),
      objectCount: z.number(),
      reservedBytes: z.number(),
      committedBytes: z.number(),
      countedAt: instant,
      source: z.enum(['cache', 'scan']),
    })
    .nullable(),
  repos: z.array(
    z.strictObject({
      repo: z.string(),
      storedBytes: z.number(),
      objectCount: z.number(),
      countedAt: instant,
    }),
  ),
  refreshing: z.boolean(),
});

export type SubscriptionAnswer = z.output<typeof subscription>;

function subscriptionIn(answer: Answer): SubscriptionAnswer {
  expect(answer.status, answer.text).toBe(200);
  expect(answer.headers['content-type']).toBe('application/json');
  return subscription.parse(jsonOf(answer));
}

/** Asks for a subscription, by default as the operator. */
export async function subscriptionOf(
  api: Api,
  tenant: string,
  more: { query?: string; headers?: Record<string, string> } = {},
): Promise<SubscriptionAnswer> {
  const path = `/v1/tenants/${tenant}/subscription${more.query ?? ''}`;
  const headers = more.headers ?? bearer(api.target.adminToken);
  return subscriptionIn(await api.send({ method: 'GET', path, headers }));
}
