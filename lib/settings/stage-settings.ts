import { z } from 'zod';
import {
  gitHostIdPattern,
  gitHostKinds,
  gitHostsMax,
  isGitHostUrl,
} from '../../lambda/people/rules/git-hosts.ts';
import { issuerKinds, publicIssuers } from '../../lambda/people/rules/identities.ts';
import type { FunctionName } from '../../lambda/routes.ts';
import { isRepoName, isTenantName, tenantNameRule } from '../../lambda/rules/names.ts';
import {
  adoptedPathRule,
  adoptedReposMax,
  isAdoptedPath,
  nameLayouts,
} from '../../lambda/store/rules/adopted-repos.ts';
import { protocolSettings } from './protocol-settings.ts';

/** A web origin as a browser sends it: scheme, host and port, nothing after. */
const origin = z
  .string()
  .max(268)
  .regex(/^https?:\/\/[a-z0-9.-]+(?::\d+)?$/, 'is not an origin such as https://console.example.com');

const secretArn = z
  .string()
  .max(600)
  .regex(
    /^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:.+-[A-Za-z0-9]{6}$/,
    'is not a complete secret ARN: include the six characters at its end',
  );

const ownBucket = z.strictObject({
  kind: z.literal('bucket').describe('An S3 bucket that the stack creates.'),
  keepDeletedDays: z
    .int()
    .min(0)
    .max(3_650)
    .default(0)
    .describe(
      'Days for which an object that was deleted or replaced can be brought back. It is billed meanwhile, and counts ' +
        'as gone. 0: none are kept.',
    ),
});

const externalStore = z.strictObject({
  kind: z.literal('external').describe('An existing S3-compatible store, such as R2 or MinIO.'),
  endpoint: origin
    .regex(/^https:/, 'must begin with https: presigned URLs and objects pass through it')
    .refine(
      (endpoint) => !/\.backblazeb2\.com$/.test(endpoint),
      'is Backblaze B2, which rejects uploads with the signed header x-amz-checksum-sha256: use another store',
    )
    .describe('URL of its S3 API, without the bucket.'),
  region: z.string().min(1).max(64).describe('Region to sign requests for. R2 expects `auto`.'),
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'is not a bucket name')
    .describe('An existing bucket that holds nothing else, or what `adoptedRepos` name.'),
  credentialsSecretArn: secretArn.describe(
    'Secret with a key for that bucket, as JSON: {"accessKeyId": "…", "secretAccessKey": "…"}.',
  ),
  profile: z
    .string()
    .min(1)
    .optional()
    .describe(
      'File that `npx lfs-quota doctor --profile FILE` wrote about this store. Synth refuses a store that cannot ' +
        'work, and takes the default of protocol.objectMaxMiB from it. A relative path begins where `cdk` runs.',
    ),
});

/** docs/decisions/memory.md explains each default. */
const memoryMb = (defaultMb: number) => z.int().min(128).max(10_240).default(defaultMb).describe('MB.');

const memoryOfFunctions = z
  .strictObject({
    console: memoryMb(256),
    health: memoryMb(128),
    lfsBatch: memoryMb(1_024),
    lfsVerify: memoryMb(512),
    lfsLocks: memoryMb(512),
    getSubscription: memoryMb(1_024),
    exchangeToken: memoryMb(512),
    management: memoryMb(512),
    notFound: memoryMb(128),
    reconcile: memoryMb(512),
    refresh: memoryMb(256),
    sendWebhook: memoryMb(256),
    exportArchive: memoryMb(2_048),
    storeEvents: memoryMb(256),
  } satisfies Record<FunctionName, z.ZodType>)
  .prefault({})
  .describe('Memory of each function. Lambda gives CPU in proportion: 1,769 MB is one core.');

const reservedConcurrency = z
  .strictObject({
    lfsBatch: z
      .int()
      .min(1)
      .optional()
      .describe(
        'Runs of the batch function that nothing else in the account can use up. It never has more. AWS refuses what ' +
          'leaves the rest of the account less than 100, so a new account can set none.',
      ),
  })
  .prefault({})
  .describe('Lambda concurrency set aside. By default all functions share that of the account.');

const throttle = z
  .strictObject({
    requestsPerSecond: z
      .int()
      .min(0)
      .max(10_000)
      .default(500)
      .describe('Sustained rate of each LFS route: batches, verifies, locks. With burst 0 too: closed.'),
    burst: z.int().min(0).max(5_000).default(1_000).describe('Requests at once to each LFS route.'),
    otherRequestsPerSecond: z
      .int()
      .min(0)
      .max(10_000)
      .default(50)
      .describe(
        'Sustained rate of other routes: /health, /openapi.json, the management API, and what matches no route.',
      ),
    otherBurst: z.int().min(0).max(5_000).default(100).describe('Requests at once to other routes.'),
  })
  .prefault({})
  .describe('Limits for all tenants together, above which API Gateway answers 429.');

const reconcile = z
  .strictObject({
    timeoutMinutes: z
      .int()
      .min(2, 'must be 2 or more: a run spends up to one minute deleting, and then recounts')
      .max(15)
      .default(5)
      .describe(
        'Longest run. A failed recount is retried after one minute, then one minute later each time, up to ten. One ' +
          'whose run died is retried after six times this.',
      ),
    concurrency: z
      .int()
      .min(2)
      .max(1_000)
      .default(5)
      .describe('Tenants recounted at a time. A new account may run 10 functions at once, all together.'),
    delaySeconds: z
      .int()
      .min(31)
      .max(900)
      .default(35)
      .describe(
        'Delay between a trigger and its recount. Triggers in the same 30 s share one message, which must start ' +
          'after all of them by any clock (protocol.clockSkewSeconds).',
      ),
    attemptsMax: z
      .int()
      .min(1)
      .max(100)
      .default(20)
      .describe(
        'Failed runs before a recount becomes a dead letter. 20 outlast two hours without store or table.',
      ),
  })
  .prefault({})
  .describe('Recounts and their queue.');

const exportsOfStage = z
  .strictObject({
    workers: z
      .int()
      .min(0)
      .max(1_000)
      .refine((workers) => workers !== 1, 'must be 0, or 2 or more: Lambda runs a queue by two or more')
      .default(8)
      .describe(
        'Functions that make archives at a time, for all tenants together. They count to what the account may run at ' +
          'once: 2 for a new account. 0: no exports.',
      ),
    perTenant: z
      .int()
      .min(1)
      .max(100)
      .default(3)
      .describe('Archives of a tenant that are made or kept at the same time.'),
    keepDays: z
      .int()
      .min(1)
      .max(30)
      .default(7)
      .describe(
        'Days for which an archive is kept. It is billed meanwhile, and does not count against the limit.',
      ),
  })
  .prefault({})
  .describe('Archives of all objects of a tenant or repo: docs/export.md.');

const warningsOfStage = z
  .strictObject({
    eventBus: z
      .boolean()
      .default(true)
      .describe("Publish warnings of all tenants to the account's default event bus: a dollar a million."),
  })
  .prefault({})
  .describe('Who hears that a tenant is nearly full: docs/warnings.md.');

const identityIssuer = z.strictObject({
  issuer: z
    .string()
    .max(512)
    .regex(
      /^https:\/\/[^\s?#]+[^\s?#/]$/,
      'must be an address that begins with https, without a closing slash',
    )
    .describe('The claim `iss` of its tokens, such as https://gitlab.example.com.'),
  jwksUri: z
    .string()
    .max(512)
    .regex(/^https:\/\/\S+$/, 'must begin with https')
    .describe('Where its public keys are, such as https://gitlab.example.com/oauth/discovery/keys.'),
  kind: z.enum(issuerKinds).describe('How it names repositories.'),
});

const adoptedRepo = z.strictObject({
  tenant: z.string().refine(isTenantName, `is not a tenant's name: ${tenantNameRule}`),
  repo: z.string().refine(isRepoName, "is not a repo's name"),
  path: z.string().refine(isAdoptedPath, adoptedPathRule),
  names: z.enum(nameLayouts),
});

const gitHost = z.strictObject({
  id: z
    .string()
    .regex(gitHostIdPattern, 'must be 1 to 20 of a-z, 0-9 and -, beginning and ending with a letter or digit')
    .describe(
      'What tenants call it, such as github. People are told apart by it: never give it to another host afterwards.',
    ),
  kind: z.enum(gitHostKinds).describe('How its API is spoken to. gitea: Forgejo, too.'),
  url: z
    .string()
    .refine(
      (url) => isGitHostUrl(url),
      'must be an address that begins with https, without a closing slash or query',
    )
    .describe(
      'Of its API on GitHub, such as https://api.github.com or https://github.example.com/api/v3; else of the host, ' +
        'such as https://gitlab.com.',
    ),
});

const alarms = z
  .strictObject({
    email: z
      .email()
      .optional()
      .describe('Who is notified. Without it, subscribe to the alarm topic yourself.'),
    queueAgeMinutes: z.int().min(1).default(60).describe('Age of the oldest queued recount.'),
    recountFailures: z
      .int()
      .min(1)
      .max(12)
      .default(4)
      .describe(
        'Five-minute periods of an hour, of twelve, in which a recount failed. A tenant whose recounts all fail makes ' +
          'four or more; an outage of ten minutes three at most.',
      ),
    driftGiB: z
      .int()
      .min(1)
      .default(100)
      .describe(
        'GiB stored or reserved that one recount finds missing from the counter. It includes uploads admitted ' +
          'while it begins: allow for at least one push.',
      ),
    recountAgeHours: z
      .int()
      .min(2)
      .default(36)
      .describe('Age of a count when a new one replaces it: above this the schedule falls behind.'),
    apiErrors: z
      .int()
      .min(1)
      .default(5)
      .describe('5xx answers in 5 minutes, but for 509: downloads that are used up.'),
    requestsThrottled: z
      .int()
      .min(1)
      .default(10)
      .describe('Requests in 5 minutes that API Gateway itself answered with 429. Each may end a push.'),
    functionErrors: z
      .int()
      .min(1)
      .default(3)
      .describe(
        'Failed invocations of one function of the API in 5 minutes; in the background one is enough.',
      ),
    functionThrottles: z
      .int()
      .min(1)
      .default(10)
      .describe(
        'Throttled invocations of one function of the API in 5 minutes; in the background at most 3.',
      ),
  })
  .prefault({})
  .describe('Alarm thresholds. What to do about each alarm: docs/operations.md.');

const logRetentionDays = [1, 3, 5, 7, 14, 30, 60, 90, 120, 180, 365, 400, 731, 1827, 3653] as const;

/** Everything that may differ between stages. What is not here is the same in all of them. */
export const everySetting = z.strictObject({
  account: z
    .string()
    .regex(/^\d{12}$/, 'is not an account id: 12 digits')
    .optional()
    .describe('AWS account. Default: that of your credentials.'),
  region: z
    .string()
    .regex(/^[a-z]{2,4}(?:-[a-z]+)+-\d$/, 'is not an AWS region such as eu-central-1')
    .optional()
    .describe('AWS region. Default: that of your credentials.'),
  keepData: z
    .boolean()
    .default(true)
    .describe('Protect the stack from deletion. If it is deleted, keep table, bucket and admin token.'),
  objectStore: z
    .discriminatedUnion('kind', [ownBucket, externalStore])
    .prefault({ kind: 'bucket' })
    .describe('Where objects are stored. Choose before the first push: moving means copying them.'),
  adoptedRepos: z
    .array(adoptedRepo)
    .max(adoptedReposMax)
    .default([])
    .describe(
      'Repos whose objects lie in the bucket where another server of Git LFS put them, as {tenant, repo, path, names}: ' +
        'docs/moving-in.md. They are counted, served and deleted there.',
    ),
  restoredTableName: z
    .string()
    .regex(/^[A-Za-z0-9._-]{3,255}$/, 'is not a table name')
    .optional()
    .describe("A table restored from a backup, used instead of the stack's own."),
  domain: z
    .strictObject({
      name: z
        .string()
        .max(253)
        .regex(/^(?:[a-z0-9-]+\.)+[a-z]{2,}$/, 'is not a domain name')
        .describe('The domain name. Point it to the output DomainTarget.'),
      certificateArn: z
        .string()
        .regex(/^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate\//, 'is not the ARN of an ACM certificate')
        .describe("Its certificate, in the stage's region."),
    })
    .optional()
    .describe('Your own domain for the API. The API then answers under no other name.'),
  publicUrl: origin
    .regex(/^https:/, 'must begin with https: tokens pass through it')
    .optional()
    .describe('Where clients reach the API, if something such as CloudFront stands before it.'),
  corsOrigins: z
    .array(origin)
    .max(20)
    .default([])
    .describe('Web origins that may call the API. git-lfs needs none.'),
  throttle,
  memoryMb: memoryOfFunctions,
  reservedConcurrency,
  reconcile,
  exports: exportsOfStage,
  warnings: warningsOfStage,
  identityIssuers: z
    .array(identityIssuer)
    .max(20)
    .refine(
      (issuers) => new Set(issuers.map(({ issuer }) => issuer)).size === issuers.length,
      'names an issuer twice',
    )
    .default(publicIssuers.map((issuer) => ({ ...issuer })))
    .describe(
      "Whose identity tokens a tenant's rules can exchange for tokens: docs/tokens.md. By default GitHub Actions and " +
        "gitlab.com. []: nobody's.",
    ),
  gitHosts: z
    .array(gitHost)
    .max(gitHostsMax)
    .refine((hosts) => new Set(hosts.map(({ id }) => id)).size === hosts.length, 'names an id twice')
    .default([])
    .describe(
      'Hosts whose people can come with their own tokens to the repos that tenants map: docs/git-hosts.md. Their tokens ' +
        'are sent there, and nowhere else.',
    ),
  protocol: protocolSettings,
  refreshEveryMinutes: z
    .int()
    .min(1)
    .max(1_440)
    .default(1)
    .describe('How often the schedule looks for tenants that are due, and hands over warnings.'),
  storeEvents: z
    .boolean()
    .default(false)
    .describe(
      'S3 notifies the stack of every object created or removed: changes made around the API are counted within ' +
        "minutes, not a day. Only for the stack's own bucket.",
    ),
  logLevel: z
    .enum(['DEBUG', 'INFO', 'WARN', 'ERROR'])
    .default('INFO')
    .describe('Lowest level that the functions log.'),
  logRetentionDays: z.literal(logRetentionDays).default(30).describe('Days that CloudWatch keeps the logs.'),
  alarms,
});

export type StageSettings = z.output<typeof everySetting>;
export type StageSettingsInput = z.input<typeof everySetting>;
