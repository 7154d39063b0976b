import type { RouteKey } from '../../routes.ts';
import {
  createTenantBody,
  createTokenBody,
  deleteQuery,
  exportQuery,
  objectQuery,
  pageQuery,
  reservationQuery,
  startExportBody,
  steerCountBody,
  subscriptionQuery,
  updateTenantBody,
} from '../management/requests.ts';
import {
  countPageSchema,
  countSchema,
  deletePlanSchema,
  exportPageSchema,
  exportSchema,
  newTokenSchema,
  objectPageSchema,
  recountQueuedSchema,
  repoPageSchema,
  repoSchema,
  reservationPageSchema,
  subscriptionSchema,
  tenantPageSchema,
  tenantSchema,
  tokenPageSchema,
  tokenSchema,
} from '../management/schemas.ts';
import type { OperationDoc } from './operation-docs.ts';

const oid = '4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8';

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
  createdAt: '2026-11-20T08:00:00Z',
  usage,
};
const repo = { repo: 'game', storedBytes: 14_700_000, objectCount: 6, countedAt: '2026-11-21T05:00:00Z' };
const token = {
  tokenId: '5f0c1e2d3b4a5968',
  scope: 'write',
  label: 'build machine',
  createdAt: '2026-11-21T05:00:00Z',
};
const reservation = {
  id: '0b5f1c2d3e4a59687766554433221100',
  repo: 'game',
  state: 'issued',
  objectCount: 2,
  bytes: 2_000_000,
  arrived: false,
  createdAt: '2026-11-21T04:59:00Z',
  expiresAt: '2026-11-21T05:30:00Z',
  reservedUntil: '2026-11-21T05:35:11Z',
};
const count = {
  repo: 'footage',
  kind: 'first',
  state: 'running',
  progress: {
    share: 0.25,
    objectCount: 125_000_000,
    listRequests: 126_400,
    objectsPerSecond: 694_444.4,
    secondsLeft: 540,
    beganAt: '2026-11-21T05:00:00Z',
    updatedAt: '2026-11-21T05:03:00Z',
  },
};
const figures = {
  archiveBytes: 15_003_084_288,
  uploadedBytes: 7_941_000_000,
  copiedBytes: 7_062_084_288,
  archives: 1,
  shards: 0,
  requests: 6400,
  dollars: 0.014,
  seconds: 14.4,
};
const newExport = {
  exportId: '019a9d3c2f805f0c1e2d3b4a',
  tenant: 'acme',
  repo: 'game',
  listedObjects: null,
  format: 'tar',
  prefer: 'time',
  dryRun: false,
  state: 'planning',
  createdAt: '2026-11-21T05:00:00Z',
  endedAt: null,
  expiresAt: '2026-11-22T05:00:00Z',
  progress: {
    share: null,
    uploadedBytes: 0,
    copiedBytes: 0,
    hashedBytes: 0,
    requests: 0,
    unitsDone: 0,
    units: 0,
  },
  plan: null,
  explained: null,
  failure: null,
  archives: [],
  countsAgainstQuota: false,
};
const archive = {
  name: 'acme-game.tar',
  sizeBytes: figures.archiveBytes,
  url: 'https://…',
  urlExpiresAt: '2026-11-21T05:31:00Z',
};
const doneExport = {
  ...newExport,
  state: 'done',
  endedAt: '2026-11-21T05:00:20Z',
  expiresAt: '2026-11-28T05:00:20Z',
  progress: {
    share: 1,
    uploadedBytes: figures.uploadedBytes,
    copiedBytes: figures.copiedBytes,
    hashedBytes: 0,
    requests: figures.requests,
    unitsDone: 8,
    units: 8,
  },
  plan: {
    way: 'copy-free',
    objectCount: 3000,
    objectBytes: 15_000_000_000,
    missing: 0,
    conflicts: 0,
    ...figures,
  },
  explained: {
    ways: [
      { kind: 'possible', way: 'copy-free', ...figures },
      { kind: 'object-too-large', way: 'copy-grid', oid, sizeBytes: 6_000_000_000_000 },
    ],
    text: 'Copy in parts of any size: …',
  },
  archives: [archive],
};
const plan = { objectCount: 6, bytes: 14_700_000, dueAt: '2026-11-21T05:00:00Z' };

const deleteAnswers = (path: object) => ({
  200: {
    description: 'With dryRun: what the delete would free. Nothing was deleted.',
    schema: deletePlanSchema,
    example: { ...path, ...plan },
  },
  202: {
    description: 'The delete has begun.',
    schema: deletePlanSchema,
    example: { ...path, ...plan },
  },
});

/** The management API: tenants, tokens, usage, deletes. */
export const managementOperations: Readonly<
  Record<RouteKey<'management' | 'getSubscription'>, OperationDoc>
> = {
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
        schema: subscriptionSchema,
        example: {
          tenant: 'acme',
          plan: 'team',
          limitBytes: 10_737_418_240,
          usage,
          repos: [repo],
          refreshing: false,
        },
      },
      202: {
        description: 'The last known usage, or null. A recount is under way: ask again in a moment.',
        schema: subscriptionSchema,
        example: { tenant: 'acme', plan: null, limitBytes: null, usage: null, repos: [], refreshing: true },
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
    problems: ['tenant-exists', 'tenant-name-taken'],
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
    body: { schema: updateTenantBody, example: { limitBytes: null } },
    answers: { 200: { description: 'The tenant as it is now.', schema: tenantSchema, example: tenant } },
    problems: ['tenant-not-found', 'tenant-closed'],
  },
  'DELETE /v1/tenants/{tenant}': {
    id: 'deleteTenant',
    summary: 'Delete a tenant with all that it stores',
    description: 'Revokes its tokens and empties its repos. The name stays taken.',
    access: 'admin',
    query: deleteQuery,
    answers: deleteAnswers({ tenant: 'acme' }),
    problems: ['tenant-not-found'],
  },
  'GET /v1/tenants/{tenant}/tokens': {
    id: 'listTokens',
    summary: 'The tokens of a tenant, by the time of their creation',
    access: 'admin',
    query: pageQuery,
    answers: {
      200: {
        description: 'One page, without the secrets.',
        schema: tokenPageSchema,
        example: { tokens: [token], nextCursor: null },
      },
    },
    problems: ['tenant-not-found'],
  },
  'POST /v1/tenants/{tenant}/tokens': {
    id: 'createToken',
    summary: 'Create a token',
    access: 'admin',
    takesRequestKey: true,
    body: { schema: createTokenBody, example: { scope: 'write', label: 'build machine' } },
    answers: {
      201: {
        description: 'The token with its secret, which is answered this once.',
        schema: newTokenSchema,
        example: { ...token, tenant: 'acme', token: 'lfsq_…' },
        headers: { Location: 'Path of the token.' },
      },
    },
    problems: ['tenant-not-found', 'tenant-closed', 'token-revoked'],
  },
  'GET /v1/tenants/{tenant}/tokens/{tokenId}': {
    id: 'getToken',
    summary: 'A token, without its secret',
    access: 'admin',
    answers: { 200: { description: 'The token.', schema: tokenSchema, example: token } },
    problems: ['tenant-not-found', 'token-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/tokens/{tokenId}': {
    id: 'revokeToken',
    summary: 'Revoke a token immediately',
    description: 'URLs that were signed for it stay valid until they expire, after 30 minutes at most.',
    access: 'admin',
    answers: { 204: { description: 'The token is revoked.' } },
    problems: ['tenant-not-found', 'token-not-found'],
  },
  'GET /v1/tenants/{tenant}/reservations': {
    id: 'listReservations',
    summary: 'What is promised to uploads under way, repo by repo',
    description:
      'One reservation for each batch of uploads. They cannot be given up, because signed URLs cannot be recalled: ' +
      'until `reservedUntil` only a higher limit makes room. `reservedBytes` of the subscription is less than their ' +
      'sum if some of their objects have arrived, or several of them are for one object; and what is late holds room ' +
      'only as far as it exceeds the limit. A page may be shorter than asked for, or empty, without being the last.',
    access: 'reader',
    query: reservationQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: reservationPageSchema,
        example: { reservations: [reservation], nextCursor: null },
      },
    },
    problems: ['tenant-not-found'],
  },
  'POST /v1/tenants/{tenant}/reconcile': {
    id: 'requestRecount',
    summary: 'Count a tenant anew',
    description: 'Queues a full recount. The subscription shows its result.',
    access: 'admin',
    answers: {
      202: {
        description: 'The recount is queued.',
        schema: recountQueuedSchema,
        example: { tenant: 'acme', queued: true },
        headers: { Location: 'Path of the subscription.' },
      },
    },
    problems: ['tenant-not-found'],
  },
  'GET /v1/tenants/{tenant}/exports': {
    id: 'listExports',
    summary: 'The exports of a tenant, the newest first',
    description: 'Without URLs: ask for one export to get them.',
    access: 'reader',
    query: exportQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: exportPageSchema,
        example: {
          exports: [{ ...doneExport, archives: [{ ...archive, url: null, urlExpiresAt: null }] }],
          nextCursor: null,
        },
      },
    },
    problems: ['tenant-not-found', 'exports-off'],
  },
  'POST /v1/tenants/{tenant}/exports': {
    id: 'startExport',
    summary: 'Make an archive of all objects of a tenant, of a repo, or of some',
    description:
      'The store copies most of the bytes by itself. The archive is kept for some days, and does not count against the ' +
      'quota. A tenant has a few places for exports: one is taken until its archive is removed.',
    access: 'reader',
    takesRequestKey: true,
    body: { schema: startExportBody, example: { repo: 'game', format: 'tar' } },
    answers: {
      202: {
        description: 'The export has begun. Ask for it again.',
        schema: exportSchema,
        example: newExport,
      },
    },
    problems: [
      'tenant-not-found',
      'repo-not-found',
      'export-not-found',
      'tenant-closed',
      'exports-off',
      'exports-full',
    ],
  },
  'GET /v1/tenants/{tenant}/exports/{exportId}': {
    id: 'getExport',
    summary: 'An export: how far it is, and where its archives are downloaded',
    description: 'Each answer has new URLs.',
    access: 'reader',
    answers: { 200: { description: 'The export.', schema: exportSchema, example: doneExport } },
    problems: ['tenant-not-found', 'export-not-found', 'exports-off'],
  },
  'DELETE /v1/tenants/{tenant}/exports/{exportId}': {
    id: 'deleteExport',
    summary: 'Cancel an export, or remove its archive',
    description:
      'Its place is free at once. What lies in the store is removed soon after; a download that has begun may break off.',
    access: 'reader',
    answers: {
      200: {
        description: 'The export as it is now.',
        schema: exportSchema,
        example: { ...newExport, state: 'cancelled', endedAt: '2026-11-21T05:00:05Z' },
      },
    },
    problems: ['tenant-not-found', 'export-not-found', 'exports-off'],
  },
  'GET /v1/tenants/{tenant}/counts': {
    id: 'listCounts',
    summary: 'How far the counts of giant repos are',
    description:
      'Repos that are counted by shards, by name. A page may be shorter than asked for, or empty, without being the last.',
    access: 'reader',
    query: pageQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: countPageSchema,
        example: { counts: [count], nextCursor: null },
      },
    },
    problems: ['tenant-not-found'],
  },
  'PATCH /v1/tenants/{tenant}/repos/{repo}/count': {
    id: 'changeCount',
    summary: 'Pause the count of a giant repo, resume it, or give up a recount',
    description:
      'What was counted stays. Pushes and deletes go on, and are counted. A first count can only be paused: until it has ' +
      'ended, nobody knows what the repo holds.',
    access: 'admin',
    body: { schema: steerCountBody, example: { state: 'paused' } },
    answers: {
      200: { description: 'The count.', schema: countSchema, example: { ...count, state: 'paused' } },
    },
    problems: ['tenant-not-found', 'repo-not-found', 'count-not-ended'],
  },
  'GET /v1/tenants/{tenant}/objects': {
    id: 'listObjects',
    summary: 'What a tenant stores, object by object',
    description:
      'As the store lists it now, by repo and oid: also what was not counted yet, and what is being deleted. An object ' +
      'that several repos have is there for each of them. A page may be shorter than asked for, or empty, without being ' +
      'the last: keys that git-lfs does not make are left out, though they count.',
    access: 'reader',
    query: objectQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: objectPageSchema,
        example: { objects: [{ repo: 'game', oid, sizeBytes: 2_450_000 }], nextCursor: null },
      },
    },
    problems: ['tenant-not-found'],
  },
  'GET /v1/tenants/{tenant}/repos': {
    id: 'listRepos',
    summary: 'The repos of a tenant, by name',
    description: 'A page may be shorter than asked for without being the last: empty repos are not shown.',
    access: 'reader',
    query: pageQuery,
    answers: {
      200: { description: 'One page.', schema: repoPageSchema, example: { repos: [repo], nextCursor: null } },
    },
    problems: ['tenant-not-found'],
  },
  'GET /v1/tenants/{tenant}/repos/{repo}': {
    id: 'getRepo',
    summary: 'A repo',
    access: 'reader',
    answers: { 200: { description: 'The repo, as last counted.', schema: repoSchema, example: repo } },
    problems: ['tenant-not-found', 'repo-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/repos/{repo}': {
    id: 'deleteRepo',
    summary: 'Delete a repo with all that it stores',
    description: 'Pushes and pulls answer 404 until it is empty. Then its name can be used anew.',
    access: 'admin',
    query: deleteQuery,
    answers: deleteAnswers({ tenant: 'acme', repo: 'game' }),
    problems: ['tenant-not-found', 'repo-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/repos/{repo}/objects/{oid}': {
    id: 'deleteObject',
    summary: 'Delete one object after a grace time',
    description: 'Pushing it again before then keeps it.',
    access: 'admin',
    query: deleteQuery,
    answers: deleteAnswers({ tenant: 'acme', repo: 'game', oid }),
    problems: ['tenant-not-found', 'object-not-found'],
  },
};
