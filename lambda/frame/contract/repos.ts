import * as z from 'zod';
import { repoPattern } from '../../core/rules/names.ts';
import { copiesShownMax } from '../../subjects/downloads/rules/copies.ts';
import { historyWeeksMax, listedWeeks } from '../../subjects/history/rules/history.ts';
import { linkedNameCharactersMax } from '../../subjects/hosts/rules/git-hosts.ts';
import { gitHostIdPattern } from '../access/rules/host-user.ts';
import { answer, type Contract, managed } from './contract.ts';
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
  time,
  timeOrNull,
} from './fields.ts';

const limitBytes = limit("The repo's own limit in bytes. null: only the tenant's limit applies.");

export const publicReadLimit = limit(
  "Monthly download limit (UTC) of all anonymous users together, in bytes. A manage token can set up to the tenant's download limit and the server's maximum, 1 TiB by default. null: unlimited, only for the operator.",
);

const publicRead = z
  .strictObject({ monthlyLimitBytes: publicReadLimit })
  .nullable()
  .describe('Makes the repo public: downloads need no token. null: private.');

export const gitHostId = z
  .string()
  .regex(gitHostIdPattern, 'must be the id of a configured git host')
  .meta({ description: 'The id of a configured git host.', examples: ['github'] });

export const readThrough = z
  .boolean()
  .optional()
  .describe(
    'Users of the git host download what is missing here from there. Objects that were deleted here stay deleted. Default: false.',
  );

const gitHost = z
  .strictObject({
    host: gitHostId,
    repo: z
      .string()
      .max(linkedNameCharactersMax)
      .meta({ description: 'Full name of the repository there, without .git.', examples: ['acme/game'] }),
    repoId: z
      .string()
      .regex(/^[1-9]\d{0,15}$/, 'must be the number of a repository, as text')
      .optional()
      .describe("Its number there, which can't be reused like a name. Without it, it's stored at first use."),
    readThrough,
  })
  .nullable()
  .describe(
    'Links the repo to a repository on a git host: its users can log in with their tokens for the host. null: not linked.',
  );

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
    storageClass: storageClass("the tenant's").optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'set limitBytes, publicRead, gitHost or storageClass')
  .meta({ id: 'UpdateRepo', minProperties: 1 });

const publicReadSchema = z
  .object({
    monthlyLimitBytes: bytesOrNull.describe('Monthly download limit (UTC) in bytes. null: unlimited.'),
    since: time.describe('Time of the last change.'),
    month: z
      .object({
        month: z.string().meta({ examples: ['2026-11'] }),
        bytes: z.int().describe('Anonymous downloads of this month so far.'),
        objects: z.int(),
        resetsAt: time.describe('When the next month starts.'),
      })
      .optional()
      .describe('Only in a response about one repo.'),
  })
  .meta({ id: 'PublicRead' });

const linkedSchema = z
  .object({
    host: z.string().meta({ description: 'The id of the git host.', examples: ['github'] }),
    repo: z.string().meta({ description: 'Full name of the repository there.', examples: ['acme/game'] }),
    repoId: stringOrNull.describe('Its number there. null: not used yet.'),
    readThrough: onlyTrue.describe('Only if missing objects are downloaded from there.'),
    since: time.describe('Time of the last change.'),
    ofTenant: onlyTrue.describe("Only if it's by the tenant's link. Only in a response about one repo."),
  })
  .meta({ id: 'GitHostOfRepo' });

export const repoSchema = z
  .object({
    repo: z.string(),
    limitBytes: bytesOrNull.describe("Its own limit. null: only the tenant's applies."),
    storedBytes: bytesOrNull.describe('null: not scanned yet.'),
    objectCount: count.nullable(),
    scannedAt: timeOrNull,
    before: z
      .object({ day: z.iso.date(), storedBytes: bytes })
      .optional()
      .describe('Stored bytes at the end of a day (UTC) about 30 days ago, or of the first known day.'),
    weeks: z
      .array(bytesOrNull)
      .optional()
      .describe(
        `Stored bytes at the end of each week (Sunday, UTC), the oldest first; the last one is this week, at its last scan. null: unknown. ${historyWeeksMax} weeks in a response about one repo, ${listedWeeks} in a list with \`weeks=true\`.`,
      ),
    storageClass: storageClassShown,
    deleting,
    uploading: onlyTrue.describe('Only if uploads are in progress and it was never scanned.'),
    publicRead: publicReadSchema.optional().describe('Only if the repo is public.'),
    gitHost: linkedSchema
      .optional()
      .describe('Only if the repo is linked to a git host. Not in a subscription.'),
    copies: z
      .object({
        queued: count.describe('They are being copied, or wait for that.'),
        failed: count.describe('The server stopped trying, within the last day.'),
      })
      .optional()
      .describe(
        `Objects of another server that were pulled or imported, and aren't copied yet: ${copiesShownMax} are counted at most. Only in a response about one repo, if there are any.`,
      ),
  })
  .meta({ id: 'Repo' });

const repoPageSchema = page('RepoPage', { repos: z.array(repoSchema) });

export type RepoBody = z.output<typeof repoSchema>;

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

const linkedRepo = {
  ...repo,
  weeks: [null, 12_100_000, 14_200_000, 14_700_000],
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
  'GET /v1/tenants/{tenant}/repos': {
    id: 'listRepos',
    summary: 'The repos of a tenant, by name',
    description: "A page can be short without being the last: empty repos are only shown if they're public.",
    access: 'reader',
    query: pageQuery.extend({
      weeks: flag().describe(`true: with the last ${listedWeeks} weeks of each repo.`),
    }),
    answers: { 200: answer('One page.', repoPageSchema, { repos: [repo], nextCursor: null }) },
  },
  'POST /v1/tenants/{tenant}/repos': {
    id: 'createRepo',
    summary: 'Create a repo',
    description:
      'Only needed in a tenant with `reposMustExist`, or to set a limit before the first push. Otherwise the first push creates it.',
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
    problems: ['repo-exists', 'repo-closed', 'repos-full', 'limits-full'],
  },
  'GET /v1/tenants/{tenant}/repos/{repo}': {
    id: 'getRepo',
    summary: 'A repo',
    access: 'reader',
    answers: { 200: answer('The repo at its last scan.', repoSchema, linkedRepo) },
    problems: ['repo-not-found'],
  },
  'PATCH /v1/tenants/{tenant}/repos/{repo}': {
    id: 'updateRepo',
    summary: "Change a repo's limit, publish it, link it to a git host, or set its storage class",
    description:
      "Several fields change together, or none. An upload must fit the repo's limit and the tenant's; stored objects stay, and downloads continue. Up to 50 repos per tenant can have a limit. A public repo needs no token for downloads, up to its monthly limit. In a linked repo, users of the git host have the same rights as there; linking it again logs them out. Deleting the repo ends both, and its storage class.",
    ...managed('repo.update'),
    body: { schema: updateRepoBody, example: { publicRead: { monthlyLimitBytes: 107_374_182_400 } } },
    answers: { 200: answer('The updated repo.', repoSchema, publicRepo) },
    problems: ['repo-not-found', 'repo-closed', 'limits-full', 'public-repos-full', 'linked-repos-full'],
  },
} as const satisfies Contract;
