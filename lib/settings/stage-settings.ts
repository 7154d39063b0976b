import { z } from 'zod';
import type { FunctionName } from '../../lambda/routes.ts';
import { protocolSettings } from './protocol-settings.ts';

/** A web origin as a browser sends it: scheme, host and port, nothing after. */
const origin = z
  .string()
  .regex(/^https?:\/\/[a-z0-9.-]+(?::\d+)?$/, 'is no origin: write it as https://console.example.com');

const secretArn = z
  .string()
  .regex(
    /^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:.+-[A-Za-z0-9]{6}$/,
    'is no complete ARN of a secret: copy it whole, with the six characters at its end',
  );

const bucketOfOurs = z.strictObject({
  kind: z.literal('bucket').describe('The stack makes an S3 bucket of its own.'),
});

const externalStore = z.strictObject({
  kind: z.literal('external').describe('An S3-compatible store elsewhere: R2, B2, MinIO. No bucket is made.'),
  endpoint: origin
    .regex(/^https:/, 'must begin with https: signed URLs and objects pass over it')
    .describe('Where its S3 API answers, without the bucket.'),
  region: z.string().min(1).describe('The region that requests are signed for; R2 takes `auto`.'),
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'is no bucket name')
    .describe('Its bucket, which must exist and hold nothing else.'),
  credentialsSecretArn: secretArn.describe(
    'Secret with the JSON {"accessKeyId": "…", "secretAccessKey": "…"} of a key for that bucket.',
  ),
});

/** Lambda gives CPU in proportion: 1,769 MB is one whole core. Why which: docs/decisions/memory.md. */
const memoryMb = (defaultMb: number) =>
  z.int().min(128).max(10_240).default(defaultMb).describe('MB of this function.');

const memoryOfFunctions = z
  .strictObject({
    health: memoryMb(128),
    lfsBatch: memoryMb(1_769),
    lfsVerify: memoryMb(512),
    getSubscription: memoryMb(1_024),
    management: memoryMb(512),
    notFound: memoryMb(128),
    reconcile: memoryMb(256),
    refresh: memoryMb(256),
    storeEvents: memoryMb(256),
  } satisfies Record<FunctionName, z.ZodType>)
  .prefault({})
  .describe('Memory of each function in MB.');

const throttle = z
  .strictObject({
    requestsPerSecond: z.int().min(1).max(10_000).default(500).describe('In the long run.'),
    burst: z.int().min(1).max(5_000).default(1_000).describe('At once.'),
  })
  .prefault({})
  .describe('What the API takes of all tenants together, before it answers 429 itself.');

const reconcile = z
  .strictObject({
    timeoutMinutes: z
      .int()
      .min(2, 'must be 2 or more: a run that deletes keeps a minute for it, and time to recount after')
      .max(15)
      .default(5)
      .describe(
        'Longest single run. Six times this is how long a recount whose run died without a word waits for its ' +
          'next try; one that failed waits a minute, and a minute more each time, up to ten.',
      ),
    concurrency: z.int().min(2).max(1_000).default(10).describe('Tenants that are recounted at once.'),
    delaySeconds: z
      .int()
      .min(31)
      .max(900)
      .default(35)
      .describe(
        'Rest between a trigger and its recount, in which further triggers join it. Triggers of the same 30 s are ' +
          'one message: it may start only after them all, by clocks that differ (protocol.clockSkewSeconds).',
      ),
    attemptsMax: z
      .int()
      .min(1)
      .max(100)
      .default(20)
      .describe(
        'Failed runs after which a recount goes to the dead-letter queue. 20 outlast two hours without the store or ' +
          'the table.',
      ),
  })
  .prefault({})
  .describe('The queue of recounts, and the function that does them.');

const alarms = z
  .strictObject({
    email: z.email().optional().describe('Who is told; without it, subscribe to the alarm topic yourself.'),
    queueAgeMinutes: z
      .int()
      .min(1)
      .default(60)
      .describe('Age of the oldest waiting recount from which on it is late.'),
    driftGiB: z
      .int()
      .min(1)
      .default(100)
      .describe(
        'GiB that one recount finds stored or promised beyond what was counted. Uploads that are admitted while it ' +
          'begins show here too, so it should be more than one push of a tenant.',
      ),
    recountAgeHours: z
      .int()
      .min(2)
      .default(36)
      .describe('Age of a count, when it is renewed, from which on the schedule has fallen behind.'),
    apiErrors: z.int().min(1).default(5).describe('Answers with 5xx in 5 minutes that matter.'),
    functionErrors: z
      .int()
      .min(1)
      .default(3)
      .describe('Failed runs of one function in 5 minutes that matter.'),
    functionThrottles: z
      .int()
      .min(1)
      .default(10)
      .describe('Throttled runs of one function in 5 minutes that matter.'),
  })
  .prefault({})
  .describe('From when on an alarm rings; docs/operations.md says what to do then.');

const logRetentionDays = [1, 3, 5, 7, 14, 30, 60, 90, 120, 180, 365, 400, 731, 1827, 3653] as const;

/** All that may differ between stages. What is not here is the same everywhere. */
export const everySetting = z.strictObject({
  account: z
    .string()
    .regex(/^\d{12}$/, 'is no account id: 12 digits')
    .optional()
    .describe('AWS account to deploy to; without it, that of the credentials in use.'),
  region: z
    .string()
    .regex(/^[a-z]{2}(?:-[a-z]+)+-\d$/, 'is no AWS region: for example eu-central-1')
    .optional()
    .describe('AWS region to deploy to; without it, that of the credentials in use.'),
  keepData: z
    .boolean()
    .default(true)
    .describe('Table, bucket and admin token outlive the stack, and the stack is protected from deletion.'),
  objectStore: z
    .discriminatedUnion('kind', [bucketOfOurs, externalStore])
    .default({ kind: 'bucket' })
    .describe('Where the objects lie. Moving later means copying them: choose before the first push.'),
  restoredTableName: z
    .string()
    .regex(/^[A-Za-z0-9._-]{3,255}$/, 'is no table name')
    .optional()
    .describe('A table restored from a backup, used in place of the one that the stack made.'),
  domain: z
    .strictObject({
      name: z
        .string()
        .regex(/^(?:[a-z0-9-]+\.)+[a-z]{2,}$/, 'is no domain name')
        .describe('The name itself; point it to the output DomainTarget.'),
      certificateArn: z
        .string()
        .regex(/^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate\//, 'is no ARN of an ACM certificate')
        .describe('Certificate for the name, in the region of the stage.'),
    })
    .optional()
    .describe('A domain of your own for the API.'),
  corsOrigins: z
    .array(origin)
    .max(20)
    .default([])
    .describe('Web pages that may call the API from a browser; git-lfs needs none.'),
  throttle,
  memoryMb: memoryOfFunctions,
  reconcile,
  protocol: protocolSettings,
  refreshEveryMinutes: z
    .int()
    .min(1)
    .max(1_440)
    .default(15)
    .describe('How often the schedule looks for tenants whose count is due.'),
  storeEvents: z
    .boolean()
    .default(false)
    .describe(
      'S3 tells of every object that comes or goes, so that what happens around the API is counted within minutes ' +
        'and not within a day. For the bucket of the stack alone.',
    ),
  logLevel: z
    .enum(['DEBUG', 'INFO', 'WARN', 'ERROR'])
    .default('INFO')
    .describe('What the functions write into their logs.'),
  logRetentionDays: z
    .literal(logRetentionDays)
    .default(30)
    .describe('How long CloudWatch keeps the logs, in days.'),
  alarms,
});

export type StageSettings = z.output<typeof everySetting>;
export type StageSettingsInput = z.input<typeof everySetting>;
