import { z } from 'zod';

/** The management API's bodies, as far as the command line shows them. Unknown fields pass. */

const usageShape = z.object({
  storedBytes: z.number(),
  objectCount: z.number(),
  reservedBytes: z.number(),
  countedAt: z.string(),
});

export const tenantShape = z.object({
  tenant: z.string(),
  plan: z.string().nullable(),
  limitBytes: z.number().nullable(),
  createdAt: z.string(),
  /** null: never counted. */
  usage: usageShape.nullable(),
});

export const tenantPageShape = z.object({
  tenants: z.array(tenantShape),
  /** Where the next page begins; null on the last one. */
  next: z.string().nullable(),
});

export const newTokenShape = z.object({
  tokenId: z.string(),
  token: z.string(),
  tenant: z.string(),
  scope: z.string(),
  label: z.string().nullable(),
});

export const tokenListShape = z.object({
  tokens: z.array(
    z.object({
      tokenId: z.string(),
      scope: z.string(),
      label: z.string().nullable(),
      createdAt: z.string(),
    }),
  ),
});

export const subscriptionShape = z.object({
  tenant: z.string(),
  plan: z.string().nullable(),
  limitBytes: z.number().nullable(),
  usage: usageShape.nullable(),
  repos: z.array(
    z.object({
      repo: z.string(),
      storedBytes: z.number(),
      objectCount: z.number(),
      countedAt: z.string(),
    }),
  ),
  refreshing: z.boolean(),
});

export const queuedShape = z.object({ tenant: z.string(), queued: z.boolean() });

/** 204: no body. */
export const emptyShape = z.undefined();

export type TenantBody = z.infer<typeof tenantShape>;
export type SubscriptionBody = z.infer<typeof subscriptionShape>;
