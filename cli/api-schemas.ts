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
  deleting: z.boolean().optional(),
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

const repoShape = z.object({
  repo: z.string(),
  /** null: being deleted before it was ever counted. */
  storedBytes: z.number().nullable(),
  objectCount: z.number().nullable(),
  countedAt: z.string().nullable(),
  deleting: z.boolean().optional(),
});

export const repoListShape = z.object({ repos: z.array(repoShape) });

export const deletePlanShape = z.object({
  tenant: z.string(),
  /** null: never counted. */
  objectCount: z.number().nullable(),
  bytes: z.number().nullable(),
  dueAt: z.string(),
});

export const subscriptionShape = z.object({
  tenant: z.string(),
  plan: z.string().nullable(),
  limitBytes: z.number().nullable(),
  usage: usageShape.nullable(),
  repos: z.array(repoShape),
  refreshing: z.boolean(),
});

export const queuedShape = z.object({ tenant: z.string(), queued: z.boolean() });

/** 204: no body. */
export const emptyShape = z.undefined();

export type TenantBody = z.infer<typeof tenantShape>;
export type RepoBody = z.infer<typeof repoShape>;
export type DeletePlanBody = z.infer<typeof deletePlanShape>;
export type SubscriptionBody = z.infer<typeof subscriptionShape>;
