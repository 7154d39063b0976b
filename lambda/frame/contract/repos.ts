import * as z from 'zod';
import { repoPattern } from '../../core/rules/names.ts';
import type { AllOf } from '../../core/rules/types.ts';
import { answer, type Contract, managed } from './contract.ts';
import {
  bytes,
  bytesOrNull,
  count,
  deleting,
  limit,
  onlyTrue,
  page,
  pageQuery,
  storageClass,
  storageClassShown,
  timeOrNull,
} from './fields.ts';
import type { ProblemCode } from './problems.ts';

const limitBytes = limit("The repo's own limit in bytes. null: only the tenant's limit applies.");

const repoRule = 'must be the name of a repo, without .git';

export const createRepoBody = z
  .strictObject({
    repo: z.string().regex(repoPattern, repoRule),
    limitBytes: limitBytes.optional(),
    kind: z.enum(['lfs', 'files']).optional().meta({
      default: 'lfs',
      description: 'files: for files of any names, which the files API uploads. It never changes.',
    }),
  })
  .meta({ id: 'CreateRepo' });

const shown = {
  repo: z.string(),
  limitBytes: bytesOrNull.describe("Its own limit. null: only the tenant's applies."),
  storedBytes: bytesOrNull.describe('null: not scanned yet.'),
  objectCount: count.nullable(),
  scannedAt: timeOrNull,
  before: z
    .object({ day: z.iso.date(), storedBytes: bytes })
    .optional()
    .describe('Stored bytes at the end of a day (UTC) about 30 days ago, or of the first known day.'),
  kind: z.literal('files').optional().describe('Only of a repo of this kind.'),
  storageClass: storageClassShown,
  deleting,
  uploading: onlyTrue.describe('Only if uploads are in progress and it was never scanned.'),
};

const reconcileQueuedSchema = z
  .object({ tenant: z.string(), queued: z.literal(true) })
  .meta({ id: 'ReconcileQueued' });

export const repo = {
  repo: 'game',
  limitBytes: null,
  storedBytes: 14_700_000,
  objectCount: 6,
  scannedAt: '2026-11-21T05:00:00Z',
  before: { day: '2026-10-22', storedBytes: 12_100_000 },
};

const set = {
  limitBytes: limitBytes.optional(),
  storageClass: storageClass("the tenant's").optional(),
};

/** A count that somebody asks for. */
export const reconcileContract = {
  'POST /v1/tenants/{tenant}/reconcile': {
    id: 'requestReconcile',
    summary: "Rescan a tenant's storage",
    description: 'Enqueues a full reconcile. The subscription shows its result.',
    access: 'manager',
    action: 'reconcile.request',
    answers: {
      202: {
        description: 'The reconcile is queued.',
        schema: reconcileQueuedSchema,
        example: { tenant: 'acme', queued: true },
        headers: { Location: 'Path of the subscription.' },
      },
    },
  },
} as const satisfies Contract;

/** What a subject says in a subscription. */
export interface SubscriptionFields {
  readonly shown: z.ZodRawShape;
  readonly example: object;
  /** Of a tenant that was never counted. */
  readonly emptyExample: object;
}

/** What a subject says of repos. */
export interface RepoFields {
  /** Of an answer about a repo. Each is optional. */
  readonly shown: z.ZodRawShape;
  /** What of it can be set. */
  readonly set: z.ZodRawShape;
  /** What a page can be asked for. */
  readonly query: z.ZodRawShape;
  readonly example: object;
  /** What a change is shown by: its body, and what it adds to the answer. */
  readonly changed?: { readonly body: object; readonly answer: object };
  /** Of a change. */
  readonly problems: readonly ProblemCode[];
  readonly subscription?: SubscriptionFields;
}

/** What is said of a repo, and what of it can be set. */
function schemasWith<const P extends readonly RepoFields[]>(parts: P) {
  const all = (which: 'shown' | 'set' | 'query'): z.ZodRawShape =>
    Object.assign({}, ...parts.map((part) => part[which]));
  const repoSchema = z.object({ ...shown, ...all('shown') }).meta({ id: 'Repo' }) as unknown as z.ZodObject<
    typeof shown & AllOf<P, 'shown'>
  >;
  const settable = { limitBytes: set.limitBytes, ...all('set'), storageClass: set.storageClass };
  const names = Object.keys(settable);
  const updateRepoBody = z
    .strictObject(settable)
    .refine((body) => Object.keys(body).length > 0, `set ${names.slice(0, -1).join(', ')} or ${names.at(-1)}`)
    .meta({ id: 'UpdateRepo', minProperties: 1 }) as unknown as z.ZodObject<typeof set & AllOf<P, 'set'>>;
  const query = pageQuery.extend(all('query')) as unknown as z.ZodType<
    z.output<typeof pageQuery> & z.output<z.ZodObject<Readonly<Record<never, never>> & AllOf<P, 'query'>>>
  >;
  return { repoSchema, updateRepoBody, query };
}

/** Repos, as counted, and what subjects say of them. */
export function repoContractWith<const P extends readonly RepoFields[]>(parts: P) {
  const { repoSchema, updateRepoBody, query } = schemasWith(parts);
  const example = Object.assign({}, repo, ...parts.map((part) => part.example));
  const limit = { limitBytes: 1_073_741_824 };
  const changed = parts.find((part) => part.changed)?.changed ?? { body: limit, answer: limit };
  const routes = {
    'GET /v1/tenants/{tenant}/repos': {
      id: 'listRepos',
      summary: 'The repos of a tenant, by name',
      description:
        "A page can be short without being the last. An empty repo is only shown if it's public, linked or being deleted, or has its own limit or storage class.",
      access: 'reader',
      query,
      answers: {
        200: answer('One page.', page('RepoPage', { repos: z.array(repoSchema) }), {
          repos: [repo],
          nextCursor: null,
        }),
      },
    },
    'POST /v1/tenants/{tenant}/repos': {
      id: 'createRepo',
      summary: 'Create a repo',
      description:
        'Only needed for a repo of kind files, in a tenant with `reposMustExist`, or to set a limit before the first push. Otherwise the first push creates it.',
      ...managed('repo.create'),
      body: { schema: createRepoBody, example: { repo: 'game', limitBytes: 1_073_741_824 } },
      answers: {
        201: {
          description: 'The empty repo.',
          schema: repoSchema,
          example: { ...repo, limitBytes: 1_073_741_824, storedBytes: 0, objectCount: 0 },
          headers: { Location: 'Path of the repo.' },
        },
      },
      problems: [
        'repo-exists',
        'wrong-kind',
        'store-cannot',
        'usage-checking',
        'repo-closed',
        'repos-full',
        'limits-full',
      ],
    },
    'GET /v1/tenants/{tenant}/repos/{repo}': {
      id: 'getRepo',
      summary: 'A repo',
      access: 'reader',
      answers: { 200: answer('The repo at its last scan.', repoSchema, example) },
      problems: ['repo-not-found'],
    },
    'PATCH /v1/tenants/{tenant}/repos/{repo}': {
      id: 'updateRepo',
      summary: "Change a repo's limit, publish it, link it to a git host, or set its storage class",
      description:
        "Several fields change together, or none. An upload must fit the repo's limit and the tenant's; stored objects stay, and downloads continue. Up to 50 repos per tenant can have a limit. A public repo needs no token for downloads, up to its monthly limit. In a linked repo, users of the git host have the same rights as there; linking it again logs them out. Deleting the repo ends both, and its storage class.",
      ...managed('repo.update'),
      body: { schema: updateRepoBody, example: changed.body },
      answers: { 200: answer('The updated repo.', repoSchema, { ...repo, ...changed.answer }) },
      problems: [
        'repo-not-found',
        'repo-closed',
        'wrong-kind',
        'limits-full',
        ...parts.flatMap(({ problems }) => problems),
      ],
    },
  } as const satisfies Contract;
  return { repoSchema, routes };
}

/** The routes, as the frame knows them. */
export type RepoContract = ReturnType<typeof repoContractWith<readonly []>>['routes'];
export type RepoBody = z.output<ReturnType<typeof repoContractWith<readonly []>>['repoSchema']>;
