import { pageQuery } from '../../../api/contract/fields.ts';
import type { OperationDocs } from '../../operation-docs.ts';
import { createRepoBody, updateRepoBody } from './requests.ts';
import { recountQueuedSchema, repoPageSchema, repoSchema } from './schemas.ts';

export const repo = {
  repo: 'game',
  limitBytes: null,
  storedBytes: 14_700_000,
  objectCount: 6,
  countedAt: '2026-11-21T05:00:00Z',
  before: { day: '2026-10-22', storedBytes: 12_100_000 },
};

const mappedRepo = {
  ...repo,
  gitHost: { host: 'github', repo: 'acme/game', repoId: '123456789', since: '2026-11-20T08:00:00Z' },
};

const publicRepo = {
  ...repo,
  publicRead: {
    monthlyLimitBytes: 107_374_182_400,
    since: '2026-11-20T08:00:00Z',
    month: { month: '2026-11', bytes: 1_470_000_000, objects: 600, resetsAt: '2026-12-01T00:00:00Z' },
  },
};

/** Repos, as counted, whether anybody may download from them, and whose people may use them. */
export const repoDocs = {
  'POST /v1/tenants/{tenant}/reconcile': {
    id: 'requestRecount',
    summary: 'Count a tenant anew',
    description: 'Queues a full recount. The subscription shows its result.',
    access: 'manager',
    action: 'recount.request',
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
  'GET /v1/tenants/{tenant}/repos': {
    id: 'listRepos',
    summary: 'The repos of a tenant, by name',
    description:
      'A page may be shorter than asked for without being the last: empty repos are not shown, unless they are public.',
    access: 'reader',
    query: pageQuery,
    answers: {
      200: { description: 'One page.', schema: repoPageSchema, example: { repos: [repo], nextCursor: null } },
    },
    problems: ['tenant-not-found'],
  },
  'POST /v1/tenants/{tenant}/repos': {
    id: 'createRepo',
    summary: 'Create a repo',
    description:
      'Needed only in a tenant with `reposMustExist`, or to limit a repo before its first push: otherwise the first ' +
      'push makes it.',
    access: 'manager',
    action: 'repo.create',
    body: { schema: createRepoBody, example: { repo: 'game', limitBytes: 1_073_741_824 } },
    answers: {
      201: {
        description: 'The repo. Nothing is in it.',
        schema: repoSchema,
        example: { ...repo, limitBytes: 1_073_741_824, storedBytes: 0, objectCount: 0 },
        headers: { Location: 'Path of the repo.' },
      },
    },
    problems: [
      'tenant-not-found',
      'tenant-closed',
      'repo-exists',
      'repo-closed',
      'repos-full',
      'limits-full',
    ],
  },
  'GET /v1/tenants/{tenant}/repos/{repo}': {
    id: 'getRepo',
    summary: 'A repo',
    access: 'reader',
    answers: { 200: { description: 'The repo, as last counted.', schema: repoSchema, example: mappedRepo } },
    problems: ['tenant-not-found', 'repo-not-found'],
  },
  'PATCH /v1/tenants/{tenant}/repos/{repo}': {
    id: 'updateRepo',
    summary: 'Limit a repo, make it public, map it to a git host',
    description:
      'Several fields are changed together: if one is refused, none is. Its own limit holds beside that of the tenant, which holds for all repos together. Uploads above it are refused at ' +
      'once; what is stored or under way stays, and downloads go on. At most 50 repos of a tenant have a limit. ' +
      'From a public repo anybody can download, without a token, up to its ceiling. A delete of the repo ends that, also ' +
      'if its name is used anew. ' +
      'Of a mapped repo, people of a git host of the stage can use git-lfs with their own tokens for that host, for what they ' +
      'may do with the repository there. Mapped again, it forgets whom it had let in. A delete of the repo ends that, too.',
    access: 'manager',
    action: 'repo.update',
    body: { schema: updateRepoBody, example: { publicRead: { monthlyLimitBytes: 107_374_182_400 } } },
    answers: {
      200: { description: 'The repo as it is now.', schema: repoSchema, example: publicRepo },
    },
    problems: [
      'tenant-not-found',
      'tenant-closed',
      'repo-not-found',
      'repo-closed',
      'limits-full',
      'public-repos-full',
      'mapped-repos-full',
    ],
  },
} satisfies OperationDocs;
