import * as z from 'zod';
import { gitHostIdPattern, hostedNameCharactersMax } from '../../people/rules/git-hosts.ts';
import { repoPattern } from '../../rules/names.ts';
import type { Contract } from './contract.ts';
import { bytes, deleting, limit, nextCursor, pageQuery, time } from './fields.ts';

const limitBytes = limit('Bytes that may be stored in the repo. null: only the limit of the tenant holds.');

const publicRead = z
  .strictObject({
    monthlyLimitBytes: limit(
      'The ceiling: bytes that anybody may be offered in a month (UTC), all together. With the scope manage at ' +
        "most the tenant's download limit and what the stage allows, 1 TiB by default. null: unlimited, which only the " +
        'operator can say.',
    ),
  })
  .nullable()
  .meta({
    description: 'Lets anybody download from the repo, without a token. null: only those who have one.',
  });

const gitHost = z
  .strictObject({
    host: z
      .string()
      .regex(gitHostIdPattern, 'must be the id of one of the git hosts of this stage')
      .meta({ description: 'The id of one of the git hosts of the stage.', examples: ['github'] }),
    repo: z
      .string()
      .max(hostedNameCharactersMax)
      .meta({ description: 'Full name of the repository there, without .git.', examples: ['acme/game'] }),
    repoId: z
      .string()
      .regex(/^[1-9]\d{0,15}$/, 'must be the number of a repository, as text')
      .optional()
      .meta({
        description:
          'Its number there, which nobody can take over as they can a name. Without it, it is learned from the first ' +
          'person who comes.',
      }),
  })
  .nullable()
  .meta({
    description:
      'Lets people use the repo with their own tokens for the host, as they may use the repository there. null: only those ' +
      'who have a token of the tenant.',
  });

const repoRule = 'must be the name of a repo, without .git';

export const createRepoBody = z
  .strictObject({
    repo: z.string().regex(repoPattern, repoRule),
    limitBytes: limitBytes.optional(),
  })
  .meta({ id: 'CreateRepo' });

export const updateRepoBody = z
  .strictObject({
    limitBytes: limitBytes.optional(),
    publicRead: publicRead.optional(),
    gitHost: gitHost.optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'name limitBytes, publicRead or gitHost')
  .meta({ id: 'UpdateRepo', minProperties: 1 });

const publicReadSchema = z
  .object({
    monthlyLimitBytes: bytes
      .nullable()
      .meta({ description: 'The ceiling: what anybody may be offered in a month (UTC). null: unlimited.' }),
    since: time.meta({ description: 'When this was decided last.' }),
    month: z
      .object({
        month: z.string().meta({ examples: ['2026-11'] }),
        bytes: z.int().meta({ description: 'Counted to the ceiling in this month so far.' }),
        objects: z.int(),
        resetsAt: time.meta({ description: 'When the next month begins.' }),
      })
      .optional()
      .meta({ description: 'Only in an answer about one repo.' }),
  })
  .meta({ id: 'PublicRead' });

const mappedSchema = z
  .object({
    host: z.string().meta({ description: 'The id of the git host.', examples: ['github'] }),
    repo: z.string().meta({ description: 'Full name of the repository there.', examples: ['acme/game'] }),
    repoId: z
      .string()
      .nullable()
      .meta({ description: 'Its number there. null: nobody has come yet from whom it could be learned.' }),
    since: time.meta({ description: 'When this was decided last.' }),
  })
  .meta({ id: 'GitHostOfRepo' });

export const repoSchema = z
  .object({
    repo: z.string(),
    limitBytes: bytes.nullable().meta({ description: 'Its own limit. null: only that of the tenant.' }),
    storedBytes: bytes.nullable().meta({ description: 'null: not counted yet.' }),
    objectCount: z.int().min(0).nullable(),
    countedAt: time.nullable(),
    before: z
      .object({ day: z.iso.date(), storedBytes: bytes })
      .optional()
      .meta({
        description:
          'What was stored at the end of a day (UTC) some 30 days ago, to tell how it has grown. The first day that is ' +
          'known, if that is later. Only if a day before today is known.',
      }),
    deleting,
    uploading: z
      .literal(true)
      .optional()
      .meta({ description: 'Only while uploads are in progress and nothing was counted yet.' }),
    publicRead: publicReadSchema
      .optional()
      .meta({ description: 'Only if anybody may download from it, without a token.' }),
    gitHost: mappedSchema.optional().meta({
      description: 'Only if people may use it with their tokens for a git host. Not in a subscription.',
    }),
  })
  .meta({ id: 'Repo' });

const repoPageSchema = z.object({ repos: z.array(repoSchema), nextCursor }).meta({ id: 'RepoPage' });

export type RepoBody = z.output<typeof repoSchema>;

const recountQueuedSchema = z
  .object({ tenant: z.string(), queued: z.literal(true) })
  .meta({ id: 'RecountQueued' });

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
export const repoContract = {
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
  },
  'POST /v1/tenants/{tenant}/repos': {
    id: 'createRepo',
    summary: 'Create a repo',
    description:
      'Needed only in a tenant with `reposMustExist`, or to limit a repo before its first push: otherwise the first ' +
      'push makes it.',
    access: 'manager',
    onlyOpen: true,
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
    problems: ['repo-exists', 'repo-closed', 'repos-full', 'limits-full'],
  },
  'GET /v1/tenants/{tenant}/repos/{repo}': {
    id: 'getRepo',
    summary: 'A repo',
    access: 'reader',
    answers: { 200: { description: 'The repo, as last counted.', schema: repoSchema, example: mappedRepo } },
    problems: ['repo-not-found'],
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
    onlyOpen: true,
    action: 'repo.update',
    body: { schema: updateRepoBody, example: { publicRead: { monthlyLimitBytes: 107_374_182_400 } } },
    answers: {
      200: { description: 'The repo as it is now.', schema: repoSchema, example: publicRepo },
    },
    problems: ['repo-not-found', 'repo-closed', 'limits-full', 'public-repos-full', 'mapped-repos-full'],
  },
} as const satisfies Contract;
