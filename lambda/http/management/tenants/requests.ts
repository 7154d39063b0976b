import * as z from 'zod';
import { flag, limit, text } from '../../../api/contract/fields.ts';
import { tenantNameRule, tenantPattern } from '../../../domain/names.ts';

/** What the management API is asked: bodies and queries. A field that none of them names is refused. */

const limitBytes = limit('Bytes that the tenant may store. null: unlimited.');

const downloadLimitBytes = limit('Bytes that may be offered for download in a month (UTC). null: unlimited.');

const reposMustExist = z.boolean().meta({
  description: 'true: a repo has to be created before it takes a push. false: its first push makes it.',
});

const plan = text('The plan that the tenant is billed by. lfs-quota only stores it.');

export const createTenantBody = z
  .strictObject({
    tenant: z.string().regex(tenantPattern, `must be ${tenantNameRule}`),
    limitBytes: limitBytes.optional(),
    plan: plan.optional(),
  })
  .meta({ id: 'CreateTenant' });

export const updateTenantBody = z
  .strictObject({
    limitBytes: limitBytes.optional(),
    downloadLimitBytes: downloadLimitBytes.optional(),
    plan: plan.optional(),
    reposMustExist: reposMustExist.optional(),
  })
  .refine(
    (body) => Object.keys(body).length > 0,
    'name limitBytes, downloadLimitBytes, plan or reposMustExist',
  )
  .meta({ id: 'UpdateTenant', minProperties: 1 });

export const subscriptionQuery = z.strictObject({
  refresh: flag().meta({
    default: false,
    description:
      'Count anew instead of reading the cache. Only the operator and tokens with the scope manage can ask for it.',
  }),
});
