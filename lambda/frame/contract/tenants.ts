import * as z from 'zod';
import { tenantNameRule, tenantPattern } from '../../core/rules/names.ts';
import type { AllOf } from '../../core/rules/types.ts';
import { answer, type Contract } from './contract.ts';
import {
  bytes,
  bytesOrNull,
  count,
  deleting,
  flag,
  limit,
  onlyTrue,
  page,
  pageQuery,
  storageClass,
  storageClassShown,
  stringOrNull,
  text,
  time,
  timeOrNull,
} from './fields.ts';
import { type RepoBody, repo, type SubscriptionFields } from './repos.ts';

/** What the management API is asked: bodies and queries. A field that none of them names is refused. */

const limitBytes = limit('Storage limit in bytes. null: unlimited.');

const downloadLimitBytes = limit('Monthly download limit (UTC) in bytes. null: unlimited.');

const reposMustExist = z
  .boolean()
  .describe('true: you must create a repo before a push. false: the first push creates it.');

const plan = text("Your name for the tenant's plan. lfs-quota only stores it.");

const createTenantBody = z
  .strictObject({
    tenant: z.string().regex(tenantPattern, `must be ${tenantNameRule}`),
    limitBytes: limitBytes.optional(),
    plan: plan.optional(),
    uploadsFrom: z.iso
      .datetime()
      .max(30)
      .describe('After you lost the table: uploads start once a scan finishes that started later.')
      .optional(),
  })
  .meta({ id: 'CreateTenant' });

const suspended = z.enum(['pushes', 'all'], 'must be pushes, all or null');

const updateTenantBody = z
  .strictObject({
    limitBytes: limitBytes.exactOptional(),
    downloadLimitBytes: downloadLimitBytes.exactOptional(),
    plan: plan.exactOptional(),
    reposMustExist: reposMustExist.exactOptional(),
    storageClass: storageClass("the bucket's own").exactOptional(),
    suspended: suspended
      .nullable()
      .exactOptional()
      .describe(
        'pushes: uploads get 403. all: downloads, logins and everything else with its tokens, too. URLs that are out work until they expire. null: resumed.',
      ),
    suspendedMessage: text(
      'Your sentence for its users, shown in Git too. Set it together with `suspended`.',
      200,
    ).exactOptional(),
  })
  .refine(
    (body) => Object.keys(body).length > 0,
    'set limitBytes, downloadLimitBytes, plan, reposMustExist, storageClass or suspended',
  )
  .refine(
    (body) => body.suspendedMessage === undefined || body.suspended,
    'suspendedMessage: set suspended to pushes or all with it',
  )
  .meta({ id: 'UpdateTenant', minProperties: 1 });

export const subscriptionQuery = z.strictObject({
  refresh: flag().meta({
    default: false,
    description: 'Scan now instead of reading the cache. Only for the operator and manage tokens.',
  }),
});

const lostTenantsQuery = pageQuery.pick({ cursor: true });

const usageSchema = z
  .object({
    storedBytes: bytes.describe('Stored at the last scan.'),
    objectCount: count,
    reservedBytes: bytes.describe('Reserved for uploads in progress: an upper bound.'),
    reservedUntil: timeOrNull.describe(
      'When the last upload reserved at `scannedAt` can no longer finish. Newer ones end later. null: none was reserved.',
    ),
    committedBytes: bytes.describe('The counter: stored, or can still be uploaded.'),
    scannedAt: time.describe('Time of the scan.'),
    olderThanYear: z
      .object({ bytes, at: time.describe('Time of the last full scan.') })
      .optional()
      .describe('Stored bytes that were uploaded over a year before `at`. Left out if unknown.'),
    source: z.enum(['cache', 'scan']).describe('scan: scanned for this response. cache: scanned before.'),
  })
  .meta({ id: 'Usage' });

/** What the operator decides about a tenant. */
const account = {
  tenant: z.string(),
  plan: stringOrNull,
  limitBytes: bytesOrNull.describe('null: unlimited.'),
  downloadLimitBytes: bytesOrNull.describe('Of what is offered for download in a month. null: unlimited.'),
  reposMustExist: z.boolean().describe('Whether you must create a repo before a push.'),
  storageClass: storageClassShown,
  suspended: suspended.optional().describe('What is suspended. Left out if nothing is.'),
  suspendedMessage: z.string().optional().describe("The operator's sentence about it, if there is one."),
};

const tenantSchema = z
  .object({
    ...account,
    createdAt: time,
    usage: usageSchema.nullable().describe("null: never scanned, which isn't zero."),
    uploadsFrom: time
      .optional()
      .describe('Only after a restore: uploads start once a scan finishes that started later.'),
    deleting,
  })
  .meta({ id: 'Tenant' });

const tenantPageSchema = page('TenantPage', { tenants: z.array(tenantSchema) });

export type TenantBody = z.output<typeof tenantSchema>;

const usage = {
  storedBytes: 14_700_000,
  objectCount: 6,
  reservedBytes: 2_000_000,
  reservedUntil: '2026-11-21T05:35:10Z',
  committedBytes: 16_700_000,
  scannedAt: '2026-11-21T05:00:00Z',
  source: 'cache',
};

const emptyUsage = {
  ...usage,
  storedBytes: 0,
  objectCount: 0,
  reservedBytes: 0,
  reservedUntil: null,
  committedBytes: 0,
};

const tenant = {
  tenant: 'acme',
  plan: 'team',
  limitBytes: 10_737_418_240,
  downloadLimitBytes: null,
  reposMustExist: false,
  createdAt: '2026-11-20T08:00:00Z',
  usage,
};

export const tenantContract = {
  'GET /v1/tenants': {
    id: 'listTenants',
    summary: 'All tenants, by name',
    description: 'A page can be short without being the last.',
    access: 'admin',
    query: pageQuery,
    answers: { 200: answer('One page.', tenantPageSchema, { tenants: [tenant], nextCursor: null }) },
  },
  'POST /v1/tenants': {
    id: 'createTenant',
    summary: 'Create a tenant',
    description:
      'Existing objects at its path are scanned first; until then, a tenant with a limit accepts no uploads.',
    access: 'admin',
    action: 'tenant.create',
    takesRequestKey: true,
    body: {
      schema: createTenantBody,
      example: { tenant: 'acme', limitBytes: 10_737_418_240, plan: 'team' },
    },
    answers: {
      201: {
        description: 'The tenant.',
        schema: tenantSchema,
        example: { ...tenant, usage: emptyUsage },
        headers: { Location: 'Path of the tenant.' },
      },
    },
    problems: ['tenant-exists', 'tenant-name-taken', 'tenant-name-reserved'],
  },
  'GET /v1/lost-tenants': {
    id: 'listLostTenants',
    summary: 'Folders of the bucket without a tenant',
    description:
      'After you lost the table: the names of tenants to create. A page can be empty without being the last.',
    access: 'admin',
    query: lostTenantsQuery,
    answers: {
      200: answer('One page.', page('LostTenantPage', { tenants: z.array(z.string()) }), {
        tenants: ['acme'],
        nextCursor: null,
      }),
    },
  },
  'GET /v1/tenants/{tenant}': {
    id: 'getTenant',
    summary: 'A tenant',
    access: 'admin',
    answers: { 200: answer('The tenant.', tenantSchema, tenant) },
  },
  'PATCH /v1/tenants/{tenant}': {
    id: 'updateTenant',
    summary: 'Change a tenant, suspend or resume it',
    description:
      "A limit below the usage deletes nothing. It rejects new uploads until there's space. Suspending ends no token.",
    access: 'admin',
    onlyOpen: true,
    action: 'tenant.update',
    body: { schema: updateTenantBody, example: { limitBytes: null } },
    answers: { 200: answer('The updated tenant.', tenantSchema, tenant) },
  },
} as const satisfies Contract;

/** A tenant's limit and usage. @param repo with what subjects say of it. @param parts what they say of the tenant. */
export function subscriptionContractWith<R extends z.ZodType, P extends readonly SubscriptionFields[]>(
  repoSchema: R,
  parts: P,
) {
  const all = (which: keyof SubscriptionFields) => Object.assign({}, ...parts.map((part) => part[which]));
  const counted = { usage: usageSchema.nullable().describe("null: never scanned, which isn't zero.") };
  const more = {
    repos: z.array(repoSchema).describe('By name. At most the 1,000 largest.'),
    reposTruncated: onlyTrue.describe(
      'Only if `repos` is incomplete. `GET /v1/tenants/{tenant}/repos` lists all.',
    ),
    refreshing: z.boolean().describe('A scan is in progress. Poll again.'),
    deleting,
  };
  const schema = z.object({ ...account, ...counted, ...all('shown'), ...more }).meta({ id: 'Subscription' });
  const subscriptionSchema = schema as unknown as z.ZodObject<
    typeof account & typeof counted & AllOf<P, 'shown'> & typeof more
  >;
  const routes = {
    'GET /v1/tenants/{tenant}/subscription': {
      id: 'getSubscription',
      summary: 'Limit and usage of a tenant',
      description:
        'Read from a cache. A tenant without a scan in the last 24 hours is scanned first. If that takes more than 20 seconds, you get 202 with the last known usage. Without a push, a `scannedAt` of up to 24 hours ago is normal.',
      access: 'reader',
      query: subscriptionQuery,
      answers: {
        200: {
          description: 'The usage with its age.',
          headers: { ETag: 'Identifies the content.' },
          schema: subscriptionSchema,
          example: {
            tenant: 'acme',
            plan: 'team',
            limitBytes: 10_737_418_240,
            downloadLimitBytes: null,
            reposMustExist: false,
            usage: { ...usage, olderThanYear: { bytes: 4_200_000, at: '2026-11-21T02:00:00Z' } },
            ...all('example'),
            repos: [repo],
            refreshing: false,
          },
        },
        304: { description: 'Unchanged since the response with the `ETag` in `If-None-Match`.' },
        202: answer('The last known usage, or null. A scan is in progress: poll again.', subscriptionSchema, {
          tenant: 'acme',
          plan: null,
          limitBytes: null,
          downloadLimitBytes: null,
          reposMustExist: false,
          usage: null,
          ...all('emptyExample'),
          repos: [],
          refreshing: true,
        }),
      },
    },
  } as const satisfies Contract;
  return { subscriptionSchema, routes };
}

/** As the frame knows it. */
export type SubscriptionBody = z.output<
  ReturnType<typeof subscriptionContractWith<z.ZodType<RepoBody>, readonly []>>['subscriptionSchema']
>;
