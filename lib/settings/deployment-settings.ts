import { z } from 'zod';
import { isRepoName, isTenantName, tenantNameRule } from '../../lambda/core/rules/names.ts';
import {
  adoptedPathRule,
  adoptedReposMax,
  isAdoptedPath,
  nameLayouts,
} from '../../lambda/core/store/rules/adopted-repos.ts';
import { publicKeyIn } from '../../lambda/core/store/rules/cdn-keys.ts';
import { storageClasses } from '../../lambda/core/store/rules/storage-class.ts';
import type { QueueSpec } from '../../lambda/frame/spec.ts';
import {
  type FunctionName,
  functionSpecs,
  queueNames,
  queueSpecs,
  type WorkersSetting,
} from '../../lambda/routes.ts';
import { protocolSettings, whole } from './protocol-settings.ts';
import { secretArn } from './secret-arn.ts';
import * as ofSubjects from './subjects.ts';

/** A web origin as a browser sends it: scheme, host and port, nothing after. */
const origin = z
  .string()
  .max(268)
  .regex(/^https?:\/\/[a-z0-9.-]+(?::\d+)?$/, "isn't an origin such as https://console.example.com");

/** Settings that belong together, each with its default. */
const section = <Shape extends z.ZodRawShape>(shape: Shape, description: string) =>
  z
    .strictObject(shape)
    .prefault({} as never)
    .describe(description);

const cdnKey = z
  .string()
  .refine(publicKeyIn, "isn't the PEM of a P-256 public key, as openssl ec -pubout prints it");

const cdn = z.strictObject({
  publicKeys: z
    .array(cdnKey)
    .min(1)
    .max(5)
    .refine((keys) => new Set(keys.map(publicKeyIn)).size === keys.length, 'has a key twice')
    .describe('P-256 keys as PEM. The private key is that of the first. URLs of the others work, too.'),
  privateKeyArn: secretArn.describe('Secret with the private key as PEM.'),
});

const bucketName = z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "isn't a bucket name");

const ownBucket = z.strictObject({
  kind: z.literal('bucket').describe('An S3 bucket that the stack creates.'),
  keepDeletedDays: whole(
    [0, 3_650],
    0,
    'Days a deleted or replaced object can be restored. Billed, but not counted as usage. 0: none.',
  ),
  existingBucket: bucketName
    .optional()
    .describe(
      "A bucket that an earlier deployment kept, used instead of the stack's own. It keeps its versions and lifecycle rules: don't raise `exports.keepDays`, or S3 deletes archives early.",
    ),
  cdn: cdn
    .optional()
    .describe('Downloads through CloudFront: docs/deploy.md#downloads-through-cloudfront. Default: from S3.'),
});

const externalShape = {
  kind: z.literal('external').describe('An existing S3-compatible store, such as R2 or MinIO.'),
  endpoint: origin
    .regex(/^https:/, 'must start with https: signed URLs and objects pass through it')
    .refine(
      (endpoint) => !/\.backblazeb2\.com$/.test(endpoint),
      'is Backblaze B2, which rejects uploads with the signed header x-amz-checksum-sha256: use another store',
    )
    .describe('URL of its S3 API, without the bucket.'),
  region: z.string().min(1).max(64).describe('Region to sign requests for. R2 expects `auto`.'),
  bucket: bucketName.describe('An existing bucket for lfs-quota alone, or the one in `adoptedRepos`.'),
  credentialsSecretArn: secretArn.describe(
    'Secret with a key for that bucket, as JSON: {"accessKeyId": "…", "secretAccessKey": "…"}.',
  ),
  storageClasses: z
    .array(z.enum(storageClasses))
    .optional()
    .describe(
      'Storage classes that it has, for tenants and repos. R2 has STANDARD and STANDARD_IA. Default: none.',
    ),
  profile: z
    .string()
    .min(1)
    .optional()
    .describe(
      "A file written by `npx lfs-quota doctor --profile FILE`, relative to where `cdk` runs. Synth rejects a store that can't work, and uses its largest upload as `protocol.objectMaxMiB`.",
    ),
};
const externalStore = z.strictObject(externalShape, {
  error: ({ code, keys }) =>
    code === 'unrecognized_keys' && keys.includes('cdn')
      ? "can't have cdn: CloudFront serves only a store of kind bucket. R2 needs none: its downloads are free"
      : undefined,
});

const memoryMb = (defaultMb: number) => whole([128, 10_240], defaultMb, 'MB.');

const memoryOfFunctions = section(
  Object.fromEntries(
    Object.entries(functionSpecs).map(([name, spec]) => [name, memoryMb(spec.memoryMb)]),
  ) as Record<FunctionName, ReturnType<typeof memoryMb>>,
  'Memory of each function. 1,769 MB is one CPU core.',
);

/** What AWS gives an account that asked for it. A new one has 10. */
export const usualConcurrency = 1_000;

/** A stage can be without some. */
const specs: Readonly<Record<string, QueueSpec | undefined>> = queueSpecs;

/** How many functions do one kind of work. Left out, it depends on `accountConcurrency`. */
const workers = (name: string, what: string, least = 2) =>
  z
    .int()
    .min(least)
    .max(1_000)
    .optional()
    .describe(
      `${what} Default: ${specs[name]?.usualWorkers ?? 0}, or fewer with a low \`accountConcurrency\`.`,
    );

const workersOfQueues = Object.fromEntries(
  queueNames.flatMap((name) => {
    const { workersIn = '', workersDo } = queueSpecs[name];
    return workersDo === undefined
      ? []
      : [[workersIn, workers(name, `Concurrent functions that ${workersDo}.`)]];
  }),
) as Readonly<Record<WorkersSetting, ReturnType<typeof workers>>>;

const reserved = (what: string) =>
  z
    .int()
    .min(1)
    .optional()
    .describe(`Runs reserved for ${what}; also their maximum. AWS requires 100 unreserved ones.`);

const reservedConcurrency = section(
  Object.fromEntries(
    Object.entries(functionSpecs).flatMap(([name, { reservedFor }]) =>
      reservedFor === undefined ? [] : [[name, reserved(reservedFor)]],
    ),
  ) as Record<FunctionName, ReturnType<typeof reserved>>,
  "Reserved Lambda concurrency. By default, functions share the account's.",
);

const throttle = section(
  {
    requestsPerSecond: whole([0, 10_000], 100, 'Sustained rate of each LFS route. 0, with burst 0: closed.'),
    burst: whole([0, 5_000], 1_000, 'Burst of each LFS route.'),
    managementRequestsPerSecond: whole([0, 10_000], 10, 'Sustained rate of each management route.'),
    managementBurst: whole([0, 5_000], 100, 'Burst of each management route.'),
    otherRequestsPerSecond: whole(
      [0, 10_000],
      50,
      'Sustained rate of each other route: console, sign-in, CI tokens.',
    ),
    otherBurst: whole([0, 5_000], 100, 'Burst of each other route.'),
  },
  'Limits of API Gateway for all tenants together. Above: 429.',
);

/** As many as an account may have of a table, unless AWS raises it. */
const unitsMax = 40_000;
const table = section(
  {
    maxReadUnits: z
      .int()
      .min(1)
      .max(unitsMax)
      .optional()
      .describe('Reads per second of the table, and of each index.'),
    maxWriteUnits: z
      .int()
      .min(1)
      .max(unitsMax)
      .optional()
      .describe('Writes per second of the table, and of each index. A push takes about 20.'),
  },
  'Limits of the table, to limit its cost. Above: 503. By default, those of the account. A restored table has its own.',
);

const reconcile = section(
  {
    timeoutMinutes: whole(
      [2, 15],
      5,
      'Longest run of the function. A failed reconcile is retried after 1 to 10 minutes, a crashed one after six times this.',
      { min: 'a run spends up to one minute deleting, and then reconciles' },
    ),
    concurrency: workers('reconciles', 'Concurrent reconciles.'),
    delaySeconds: whole([31, 900], 35, 'Delay before a reconcile. Requests within 30 s share one message.'),
    attemptsMax: whole(
      [1, 100],
      20,
      'Failed runs before a message becomes a dead letter. 20 take over two hours.',
    ),
  },
  'Reconciles and their queue.',
);

const exportsOfDeployment = section(
  {
    workers: workers(
      'exports',
      'Concurrent functions that build archives. 0: exports are disabled.',
      0,
    ).refine((count) => count !== 1, 'must be 0, or 2 or more: Lambda runs a queue by two or more'),
    perTenant: whole([1, 100], 3, 'Archives per tenant, in progress or stored.'),
    keepDays: whole([1, 30], 7, 'Days an archive is stored. Billed, but not counted as usage.'),
  },
  'Exports: docs/migrate.md#exports.',
);

const alertsOfDeployment = section(
  {
    eventBus: z
      .boolean()
      .default(true)
      .describe("Publish all tenants' alerts to the account's default event bus: $1 a million."),
  },
  'Alerts: docs/saas-builders.md#get-notified.',
);

const emailOfDeployment = z
  .strictObject({
    from: z
      .email()
      .max(254)
      .describe('Sender. Verify it, or its domain, in Amazon SES in the same account and region.'),
  })
  .optional()
  .describe('E-mail alerts by Amazon SES. Default: none are sent.');

const adoptedRepo = z.strictObject({
  tenant: z
    .string()
    .refine(isTenantName, `isn't a tenant's name: ${tenantNameRule}`)
    .describe('Name of its tenant.'),
  repo: z.string().refine(isRepoName, "isn't a repo's name").describe('Its name here.'),
  path: z
    .string()
    .refine(isAdoptedPath, adoptedPathRule)
    .describe('Folder of the bucket, such as lfs/. Empty: the whole bucket.'),
  names: z.enum(nameLayouts).describe('How the other server names objects in it.'),
});

const alarms = section(
  {
    email: z
      .email()
      .optional()
      .describe('Recipient of alarms. Without it, subscribe to the alarm topic yourself.'),
    monthlyDollars: z
      .int()
      .min(1)
      .optional()
      .describe(
        'A budget for all costs of the AWS account: notifies at 80%, 100% and a forecast of 100%. Default: none.',
      ),
    queueAgeMinutes: whole([1], 60, 'Age of the oldest message in a queue. For exports six times this.'),
    reconcileFailures: whole(
      [1, 12],
      4,
      'Five-minute periods with failed reconciles, of the twelve in an hour.',
    ),
    driftGiB: whole([1], 100, 'GiB that one reconcile finds missing in the counter. Allow for one push.'),
    reconcileAgeHours: whole([2], 36, 'Age of usage when a reconcile replaces it.'),
    apiErrors: whole([1], 5, '5xx responses in 5 minutes, except 509.'),
    requestsThrottled: whole([1], 10, 'Requests in 5 minutes that API Gateway rejected with 429.'),
    clientErrors: whole(
      [1],
      5_000,
      '4xx responses in 5 minutes. Git expects one 401 for each push and pull.',
    ),
    requests: whole([1], 60_000, 'Requests in 5 minutes.'),
    batchSeconds: whole([1], 10, 'Time for the slowest 1% of LFS batches, in 15 minutes.'),
    tableThrottles: whole(
      [1],
      100,
      'Reads or writes in 5 minutes that the table or one of its indexes rejected.',
    ),
    functionErrors: whole(
      [1],
      3,
      'Errors of one API function in 5 minutes. In the background: one in 4 of the 12 ten-minute periods of 2 hours.',
    ),
    functionThrottles: whole(
      [1],
      10,
      'Throttled calls of one API function in 5 minutes. In the background, 3.',
    ),
  },
  'Alarm thresholds: docs/runbook.md#alarms.',
);

interface SubjectSetting {
  readonly setting: z.ZodType;
  readonly toJson: (value: never) => string | undefined;
  readonly secretsOf?: (value: never) => readonly string[];
}

/** By their names. */
export const settingsOfSubjects = Object.entries<SubjectSetting>(ofSubjects) as [
  keyof typeof ofSubjects,
  SubjectSetting,
][];

const logRetentionDays = [1, 3, 5, 7, 14, 30, 60, 90, 120, 180, 365, 400, 731, 1827, 3653] as const;

/** Everything that may differ between stages. What is not here is the same in all of them. */
export const everySetting = z.strictObject({
  account: z
    .string()
    .regex(/^\d{12}$/, "isn't an account id: 12 digits")
    .optional()
    .describe('AWS account. Default: that of your credentials.'),
  region: z
    .string()
    .regex(/^[a-z]{2,4}(?:-[a-z]+)+-\d$/, "isn't an AWS region such as eu-central-1")
    .optional()
    .describe('AWS region. Default: that of your credentials.'),
  keepData: z
    .boolean()
    .default(true)
    .describe('Protect the stack from deletion, and keep table, bucket and admin token after it.'),
  canary: z
    .boolean()
    .default(true)
    .describe(
      'A new version gets 10% of pushes and pulls for 5 minutes, and then all. Alarms on errors roll back. Needs `monitoring`.',
    ),
  objectStore: z
    .discriminatedUnion('kind', [ownBucket, externalStore])
    .prefault({ kind: 'bucket' })
    .describe('The object store. Choose it before the first push: its objects stay behind if you change it.'),
  adoptedRepos: z
    .array(adoptedRepo)
    .max(adoptedReposMax)
    .default([])
    .describe("Repos in another LFS server's layout: docs/migrate.md#use-another-servers-bucket."),
  restoredTableName: z
    .string()
    .regex(/^[A-Za-z0-9._-]{3,255}$/, "isn't a table name")
    .optional()
    .describe(
      "A table restored from a backup, used instead of the stack's own: docs/runbook.md#restore-the-table.",
    ),
  domain: z
    .strictObject({
      name: z
        .string()
        .max(253)
        .regex(/^(?:[a-z0-9-]+\.)+[a-z]{2,}$/, "isn't a domain name")
        .describe('The domain name. Point it to the output DomainTarget.'),
      certificateArn: z
        .string()
        .regex(/^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate\//, "isn't the ARN of an ACM certificate")
        .describe("Its ACM certificate, in the stack's region."),
      keepDefaultUrl: z
        .boolean(
          "must be set: true if you add the domain now, false once all clients use it. Before this setting, a domain closed the API's own URL: false keeps that",
        )
        .describe(
          "Required. Whether the API's own URL stays open. Close it once all clients use the domain, so none gets around what protects that.",
        ),
    })
    .optional()
    .describe('Your own domain.'),
  publicUrl: origin
    .regex(/^https:/, 'must start with https: tokens pass through it')
    .optional()
    .describe('Public URL of the API, if CloudFront or another proxy is in front.'),
  limitContactUrl: z
    .string()
    .max(500)
    .regex(/^(?:https:\/\/|mailto:)[^\s"'<>\\]+$/, 'must start with https:// or mailto:')
    .optional()
    .describe('Where users ask for a higher limit: the console links to it.'),
  corsOrigins: z
    .array(origin)
    .max(20)
    .default([])
    .describe(
      "Web origins: their pages can call the API with a token, and use signed URLs of the stack's own bucket. git-lfs needs none.",
    ),
  throttle,
  table,
  accountConcurrency: whole(
    [10, 100_000],
    usualConcurrency,
    'Functions that your AWS account runs at once, in this region: `aws lambda get-account-settings`. A new account has 10.',
  ),
  memoryMb: memoryOfFunctions,
  reservedConcurrency,
  reconcile,
  exports: exportsOfDeployment,
  ...workersOfQueues,
  alerts: alertsOfDeployment,
  email: emailOfDeployment,
  ...(Object.fromEntries(settingsOfSubjects.map(([name, { setting }]) => [name, setting])) as {
    readonly [N in keyof typeof ofSubjects]: (typeof ofSubjects)[N]['setting'];
  }),
  protocol: protocolSettings,
  refreshEveryMinutes: whole([1, 1_440], 1, 'Interval of the schedule: due reconciles and alerts.'),
  storeEvents: z
    .boolean()
    .default(false)
    .describe("Count changes around the API within minutes, by S3 events. Only with the stack's own bucket."),
  usageFiles: z
    .boolean()
    .default(false)
    .describe('Write hours of usage as files: docs/saas-builders.md#bill.'),
  logLevel: z.enum(['DEBUG', 'INFO', 'WARN', 'ERROR']).default('INFO').describe('Lowest log level.'),
  logRetentionDays: z.literal(logRetentionDays).default(30).describe('Days logs are stored.'),
  monitoring: z
    .enum(['none', 'basic', 'full'])
    .default('full')
    .describe(
      'Alarms and a dashboard: docs/deploy.md#what-it-costs. basic: ten alarms, no dashboard. none: neither.',
    ),
  alarms,
});

export type DeploymentSettings = z.output<typeof everySetting>;
export type DeploymentSettingsInput = z.input<typeof everySetting>;
