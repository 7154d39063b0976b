import { pageQuery } from '../../../api/contract/fields.ts';
import { lastRefusal } from '../../../api/contract/history.ts';
import type { OperationDocs } from '../../operation-docs.ts';
import { repo } from '../repos/docs.ts';
import { createTenantBody, subscriptionQuery, updateTenantBody } from './requests.ts';
import { subscriptionSchema, tenantPageSchema, tenantSchema } from './schemas.ts';

const usage = {
  storedBytes: 14_700_000,
  objectCount: 6,
  reservedBytes: 2_000_000,
  reservedUntil: '2026-11-21T05:35:10Z',
  committedBytes: 16_700_000,
  countedAt: '2026-11-21T05:00:00Z',
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

/** Tenants and their usage. */
export const tenantDocs = {
  'GET /v1/tenants/{tenant}/subscription': {
    id: 'getSubscription',
    summary: 'Limit and usage of a tenant',
    description:
      'Answered from the cache. A tenant that was never counted, or was counted more than 24 hours ago, is counted ' +
      'first. If that takes more than 20 seconds, the answer is 202 with the last known usage. While nothing is ' +
      'uploaded or deleted, a tenant is not counted again, so a `countedAt` of some hours ago is normal.',
    access: 'reader',
    query: subscriptionQuery,
    answers: {
      200: {
        description: 'The usage with its age.',
        headers: { ETag: 'Names the content.' },
        schema: subscriptionSchema,
        example: {
          tenant: 'acme',
          plan: 'team',
          limitBytes: 10_737_418_240,
          downloadLimitBytes: null,
          reposMustExist: false,
          usage,
          forecast: { fullOn: '2027-02-03', reason: null, bytesPerDay: 70_200_000 },
          lastRefusals: [lastRefusal],
          repos: [repo],
          refreshing: false,
        },
      },
      304: { description: 'It is as `If-None-Match` names it: the `ETag` of an answer before.' },
      202: {
        description: 'The last known usage, or null. A recount is under way: ask again in a moment.',
        schema: subscriptionSchema,
        example: {
          tenant: 'acme',
          plan: null,
          limitBytes: null,
          downloadLimitBytes: null,
          reposMustExist: false,
          usage: null,
          forecast: { fullOn: null, reason: 'unlimited', bytesPerDay: null },
          lastRefusals: [],
          repos: [],
          refreshing: true,
        },
      },
    },
    problems: ['tenant-not-found'],
  },
  'GET /v1/tenants': {
    id: 'listTenants',
    summary: 'All tenants, by name',
    description: 'A page may be shorter than asked for without being the last.',
    access: 'admin',
    query: pageQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: tenantPageSchema,
        example: { tenants: [tenant], nextCursor: null },
      },
    },
  },
  'POST /v1/tenants': {
    id: 'createTenant',
    summary: 'Create a tenant',
    description:
      'If objects lie below its path already, they are counted first, and uploads below a limit wait for that.',
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
  'GET /v1/tenants/{tenant}': {
    id: 'getTenant',
    summary: 'A tenant',
    access: 'admin',
    answers: { 200: { description: 'The tenant.', schema: tenantSchema, example: tenant } },
    problems: ['tenant-not-found'],
  },
  'PATCH /v1/tenants/{tenant}': {
    id: 'updateTenant',
    summary: 'Change the limit or the plan of a tenant',
    description:
      'A limit below what is stored deletes nothing. It refuses new uploads until there is room again.',
    access: 'admin',
    action: 'tenant.update',
    body: { schema: updateTenantBody, example: { limitBytes: null } },
    answers: { 200: { description: 'The tenant as it is now.', schema: tenantSchema, example: tenant } },
    problems: ['tenant-not-found', 'tenant-closed'],
  },
} satisfies OperationDocs;
