import * as z from 'zod';
import { bytes, deleting, nextCursor, time } from '../../../api/contract/fields.ts';
import { forecastSchema, lastRefusalsSchema } from '../../../api/contract/history.ts';
import { repoSchema } from '../repos/schemas.ts';

const usageSchema = z
  .object({
    storedBytes: bytes.meta({ description: 'Stored, as last counted.' }),
    objectCount: z.int().min(0),
    reservedBytes: bytes.meta({ description: 'What admitted uploads may still bring: an upper bound.' }),
    reservedUntil: time.nullable().meta({
      description:
        'When the last of the uploads that were reserved at `countedAt` can no longer arrive. Those admitted since ' +
        'end later. null: none was reserved.',
    }),
    committedBytes: bytes.meta({ description: 'The counter: what is stored or may still arrive.' }),
    countedAt: time.meta({ description: 'When the numbers were counted.' }),
    source: z
      .enum(['cache', 'scan'])
      .meta({ description: 'scan: counted for this answer. cache: counted before.' }),
  })
  .meta({ id: 'Usage' });

/** What the operator decides about a tenant. */
const account = {
  tenant: z.string(),
  plan: z.string().nullable(),
  limitBytes: bytes.nullable().meta({ description: 'null: unlimited.' }),
  downloadLimitBytes: bytes
    .nullable()
    .meta({ description: 'Of what is offered for download in a month. null: unlimited.' }),
  reposMustExist: z
    .boolean()
    .meta({ description: 'Whether a repo has to be created before it takes a push.' }),
};

export const tenantSchema = z
  .object({
    ...account,
    createdAt: time,
    usage: usageSchema.nullable().meta({ description: 'null: never counted, which is not zero.' }),
    deleting,
  })
  .meta({ id: 'Tenant' });

export const tenantPageSchema = z
  .object({ tenants: z.array(tenantSchema), nextCursor })
  .meta({ id: 'TenantPage' });

export const subscriptionSchema = z
  .object({
    ...account,
    usage: usageSchema.nullable().meta({ description: 'null: never counted, which is not zero.' }),
    forecast: forecastSchema,
    lastRefusals: lastRefusalsSchema,
    repos: z.array(repoSchema).meta({ description: 'By name. At most the 1,000 largest.' }),
    reposTruncated: z
      .literal(true)
      .optional()
      .meta({ description: 'Only if `repos` lacks some. `GET /v1/tenants/{tenant}/repos` lists all.' }),
    refreshing: z.boolean().meta({ description: 'A recount is under way. Ask again in a moment.' }),
    deleting,
  })
  .meta({ id: 'Subscription' });

export type TenantBody = z.output<typeof tenantSchema>;

export type SubscriptionBody = z.output<typeof subscriptionSchema>;
