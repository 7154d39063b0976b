import { describe, expect, it } from 'vitest';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { functionSpecs } from '../../lambda/routes.ts';
import { protocolSettings, settingsOf } from '../../lib/settings/protocol-settings.ts';
import { parseDeploymentSettings } from '../../lib/settings/stages.ts';
import { deployed } from './deployed-stack.ts';
import { expectRefused, externalStore, templateOf } from './stack-template.ts';

const gitHost = { id: 'github', kind: 'github', url: 'https://api.github.com' };

describe('the settings of a stage', () => {
  it('all have defaults', () => {
    expect(parseDeploymentSettings('prod', {})).toMatchObject({
      keepData: true,
      objectStore: { kind: 'bucket', keepDeletedDays: 0 },
      corsOrigins: [],
      refreshEveryMinutes: 1,
      reconcile: { timeoutMinutes: 5, delaySeconds: 35, attemptsMax: 20 },
      accountConcurrency: 1_000,
    });
  });

  it.each([
    [{ account: '1234' }, "account: isn't an account id"],
    [{ region: 'europe' }, "region: isn't an AWS region"],
    [{ keepdata: true }, 'Unrecognized key: "keepdata"'],
    [{ refreshEveryMinutes: 0 }, 'refreshEveryMinutes: Too small'],
    [{ reconcile: { timeoutMinutes: 16 } }, 'reconcile.timeoutMinutes: Too big'],
    [{ reconcile: { delaySeconds: 30 } }, 'reconcile.delaySeconds: Too small'],
    [{ exports: { workers: 1 } }, 'exports.workers: must be 0, or 2 or more'],
    [{ exports: { keepDays: 0 } }, 'exports.keepDays: Too small'],
    [{ throttle: { burst: 0 } }, 'throttle.burst: must be 0 if throttle.requestsPerSecond is 0'],
    [{ throttle: { otherRequestsPerSecond: 0 } }, 'throttle.otherBurst: must be 0 if'],
    [{ throttle: { managementBurst: 0 } }, 'throttle.managementBurst: must be 0 if'],
    [{ memoryMb: { lfsBatch: 64 } }, 'memoryMb.lfsBatch: Too small'],
    [{ memoryMb: { lfsbatch: 256 } }, 'memoryMb: Unrecognized key: "lfsbatch"'],
    // Of earlier versions: nothing that was set is ignored.
    [{ memoryMb: { scanShard: 1_024 } }, 'memoryMb: Unrecognized key: "scanShard"'],
    [{ reconcile: { shardWorkers: 4 } }, 'reconcile: Unrecognized key: "shardWorkers"'],
    [{ corsOrigins: ['https://example.com/'] }, "corsOrigins.0: isn't an origin"],
    [{ corsOrigins: ['*'] }, "corsOrigins.0: isn't an origin"],
    [{ logRetentionDays: 31 }, 'logRetentionDays: Invalid option'],
    [{ domain: { name: 'lfs.example.com' } }, 'domain.certificateArn: Invalid input'],
    [{ alarms: { email: 'nobody' } }, 'alarms.email: Invalid email'],
    [{ objectStore: { kind: 'bucket', keepDeletedDays: -1 } }, 'objectStore.keepDeletedDays: Too small'],
    [
      { objectStore: { kind: 'external', keepDeletedDays: 7 } },
      'objectStore: Unrecognized key: "keepDeletedDays"',
    ],
    [{ gitHosts: [{ ...gitHost, id: 'Git Hub' }] }, 'gitHosts.0.id: must be 1 to 20 of'],
    [{ gitHosts: [{ ...gitHost, kind: 'bitbucket' }] }, 'gitHosts.0.kind: Invalid option'],
    [{ gitHosts: [{ ...gitHost, url: 'http://127.0.0.1:3000' }] }, 'gitHosts.0.url: must be a URL'],
    [{ gitHosts: [{ ...gitHost, url: 'https://api.github.com/' }] }, 'gitHosts.0.url: must be a URL'],
    [
      { gitHosts: [{ ...gitHost, signIn: { clientId: 'a', clientSecretArn: 'shh' } }] },
      "gitHosts.0.signIn.clientSecretArn: isn't a complete secret ARN",
    ],
    [{ gitHosts: [gitHost, gitHost] }, 'gitHosts: has an id twice'],
    [{ gitHosts: Array.from({ length: 9 }, (_, at) => ({ ...gitHost, id: `h${at}` })) }, 'gitHosts: Too big'],
    [{ objectStore: { kind: 'minio' } }, 'objectStore.kind: Invalid'],
    [
      { objectStore: { kind: 'external', endpoint: 'r2.example.com' } },
      "objectStore.endpoint: isn't an origin",
    ],
    [
      { objectStore: { kind: 'external', endpoint: 'http://r2.example.com' } },
      'endpoint: must start with https',
    ],
    [
      { objectStore: { kind: 'external', credentialsSecretArn: 'arn:aws:secretsmanager:x:1:secret:r2' } },
      "objectStore.credentialsSecretArn: isn't a complete secret ARN",
    ],
  ])('are rejected by name if they are invalid: %j', (settings, message) => {
    expectRefused(settings, message);
  });

  const secretIn = (place: string) => `arn:aws:secretsmanager:${place}:secret:r2-AbCdEf`;
  const external = (change: object) => ({ objectStore: { ...externalStore, ...change } });
  const certificateIn = (region: string) => ({
    domain: {
      name: 'lfs.example.com',
      certificateArn: `arn:aws:acm:${region}:111122223333:certificate/0a1b`,
      keepDefaultUrl: false,
    },
  });
  const here = { account: '111122223333', region: 'eu-central-1' };

  it.each([
    [external({ endpoint: 'https://s3.us-west-004.backblazeb2.com' }), /endpoint: .*Backblaze B2/],
    [{ ...here, ...certificateIn('us-east-1') }, /domain\.certificateArn: .*eu-central-1/],
    [
      { ...here, ...external({ credentialsSecretArn: secretIn('eu-west-1:111122223333') }) },
      /objectStore\.credentialsSecretArn: .*eu-central-1/,
    ],
    [
      { ...here, ...external({ credentialsSecretArn: secretIn('eu-central-1:999922223333') }) },
      /objectStore\.credentialsSecretArn: .*111122223333/,
    ],
    [{ publicUrl: 'http://lfs.example.com' }, /publicUrl: /],
    [{ publicUrl: 'https://lfs.example.com/' }, /publicUrl: /],
    [{ limitContactUrl: 'javascript:alert(1)' }, /limitContactUrl: must start with/],
    [{ limitContactUrl: 'http://support.example.com' }, /limitContactUrl: /],
    [{ limitContactUrl: 'https://support.example.com/"><script>' }, /limitContactUrl: /],
  ])('are rejected before a deployment that could not work: %j', (settings, message) => {
    expectRefused(settings, message);
  });

  it.each([
    ['eu-central-1', 'aws', 'console.aws.amazon.com'],
    ['cn-north-1', 'aws-cn', 'console.amazonaws.cn'],
    ['us-gov-west-1', 'aws-us-gov', 'console.amazonaws-us-gov.com'],
    ['eusc-de-east-1', 'aws-eusc', 'console.amazonaws-eusc.eu'],
  ])('can be of region %s of %s, with a dashboard at %s', (region, partition, domain) => {
    for (const settings of [{ region }, {}]) {
      const place = { partition, region, urlSuffix: '' };
      const { outputs } = deployed(templateOf(settings).toJSON(), 'lfs-quota-test', place);
      expect(outputs['DashboardUrl']).toContain(
        `https://${region}.${domain}/cloudwatch/home?region=${region}#dashboards/dashboard/lfs-quota-test-`,
      );
    }
  });

  it('are accepted with a certificate and a secret of the stage, and without a place to compare them with', () => {
    const settings = { ...certificateIn('eu-central-1'), ...external({}) };
    for (const place of [here, {}])
      expect(() => parseDeploymentSettings('prod', { ...place, ...settings })).not.toThrow();
  });

  it('are all named in one error if several are invalid', () => {
    expect(() => parseDeploymentSettings('prod', { account: 'x', throttle: { burst: -1 } })).toThrow(
      /account: .*\n {2}throttle\.burst: /,
    );
  });
});

const gitea = { tenant: 'acme', repo: 'game', path: 'lfs/', names: 'ab/cd/rest' };

describe('a setting of adopted repos', () => {
  it.each<[object[], string]>([
    [[{ ...gitea, path: 'lfs' }], 'adoptedRepos.0.path: must be empty, or folders of'],
    [[{ ...gitea, tenant: 'A' }], "adoptedRepos.0.tenant: isn't a tenant's name: 1 to 40 of"],
    [[{ ...gitea, repo: '.x' }], "adoptedRepos.0.repo: isn't a repo's name"],
    [[{ ...gitea, names: 'abc' }], 'adoptedRepos.0.names: Invalid option'],
    [[{ ...gitea, prefix: '' }], 'adoptedRepos.0: Unrecognized key'],
    [
      [gitea, { ...gitea, repo: 'b' }],
      'adoptedRepos.1: acme/b has a path that overlaps with that of acme/game',
    ],
    [[{ ...gitea, path: '_gc/' }], 'adoptedRepos.0: acme/game has a path that starts with _'],
    [
      Array.from({ length: 21 }, (_, index) => ({ ...gitea, repo: `r${index}`, path: `lfs${index}/` })),
      'adoptedRepos: Too big',
    ],
  ])('is rejected by name: %#', (adoptedRepos, message) => {
    expectRefused({ adoptedRepos }, message);
  });
});

describe('the settings of the protocol', () => {
  it('are by default those of the product', () => {
    expect(settingsOf(protocolSettings.parse({}))).toEqual(defaultSettings);
  });

  it.each(Object.keys(protocolSettings.unwrap().shape))('%s changes one setting of the product', (name) => {
    const parsed = protocolSettings.parse({});
    const changed = { ...parsed, [name]: parsed[name as keyof typeof parsed] + 1 };
    const [before, after] = [settingsOf(parsed), settingsOf(changed)];
    const differing = Object.entries(after).filter(
      ([key, value]) => before[key as keyof typeof before] !== value,
    );
    expect(differing).toHaveLength(1);
  });
});

describe('a setting that would break the protocol', () => {
  it.each([
    [
      { urlLifetimeMinutes: 61 },
      'urlLifetimeMinutes: must be 60 or less: a signed URL expires with the role session',
    ],
    [{ clockSkewSeconds: 0 }, 'clockSkewSeconds: must be 1 or more'],
    [{ clockSkewSeconds: 16 }, 'clockSkewSeconds: must be 15 or less: a batch must be over'],
    [{ deleteGraceMinutes: 0 }, 'deleteGraceMinutes: must be 1 or more: a push may protect'],
    [
      { inlineReconcileBudgetSeconds: 21 },
      'inlineReconcileBudgetSeconds: must be 20 or less: the batch function',
    ],
    [{ scanWaitSeconds: 25 }, 'scanWaitSeconds: must be 24 or less: the function that waits'],
    [{ objectMaxMiB: 5121 }, 'objectMaxMiB: must be 5120 or less: S3 accepts at most 5 GiB'],
    [{ putMinBytesPerSecond: 9_999 }, 'putMinBytesPerSecond: Too small'],
    [{ listRequestsPerHour: 0 }, 'listRequestsPerHour: Too small'],
    [{ maxAgeHours: 0.5 }, 'maxAgeHours: Invalid input: expected int'],
    [{ hostUserKeptMinutes: 61 }, 'hostUserKeptMinutes: must be 60 or less: users who lose access'],
    [{ hostUserKeptMinutes: 0 }, 'hostUserKeptMinutes: Too small'],
    [{ urlLifetimeMs: 1 }, 'protocol: Unrecognized key: "urlLifetimeMs"'],
  ])('is rejected by name: %j', (protocol, message) => {
    expectRefused({ protocol }, message);
  });

  it.each([
    [
      { protocol: { clockSkewSeconds: 6 } },
      'reconcile.delaySeconds: must be 36 or more with protocol.clockSkewSeconds 6',
    ],
    [{ reconcile: { delaySeconds: 34 } }, 'reconcile.delaySeconds: must be 35 or more'],
    [
      { protocol: { maxAgeHours: 48, idleRefreshMaxDays: 1 }, alarms: { reconcileAgeHours: 60 } },
      'protocol.idleRefreshMaxDays: must be 2 or more with protocol.maxAgeHours 48',
    ],
    [{ protocol: { maxAgeHours: 36 } }, 'alarms.reconcileAgeHours: must be 37 or more'],
    [{ refreshEveryMinutes: 1_440 }, 'alarms.reconcileAgeHours: must be 49 or more'],
    [{ reconcile: { timeoutMinutes: 1 } }, 'reconcile.timeoutMinutes: must be 2 or more: a run spends'],
  ])('is rejected if it does not fit another one: %j', (settings, message) => {
    expectRefused(settings, message);
  });

  it('is accepted if the other one fits', () => {
    const settings = { protocol: { clockSkewSeconds: 6, maxAgeHours: 36 }, reconcile: { delaySeconds: 36 } };
    expect(parseDeploymentSettings('prod', { ...settings, alarms: { reconcileAgeHours: 37 } })).toMatchObject(
      settings,
    );
  });
});

describe('at the bounds of the settings', () => {
  /** Every setting at its lower, or every setting at its upper bound. */
  const bound = (which: 'minValue' | 'maxValue') =>
    settingsOf(
      protocolSettings.parse(
        Object.fromEntries(
          Object.entries(protocolSettings.unwrap().shape).map(([name, schema]) => [
            name,
            schema.unwrap()[which],
          ]),
        ),
      ),
    );
  const [least, most] = [bound('minValue'), bound('maxValue')];
  const seconds = (name: keyof typeof functionSpecs) => 1000 * (functionSpecs[name].timeoutSeconds ?? 0);
  const longestRunMs = Math.max(seconds('lfsBatch'), seconds('management'));

  it('the batch function times out when the protocol says so', () => {
    expect(seconds('lfsBatch')).toBe(defaultSettings.batchTimeLimitMs);
  });

  it('a batch is over by every clock when its reservation is voided', () => {
    expect(most.pendingVoidAfterMs).toBeGreaterThan(most.batchTimeLimitMs + 2 * most.clockSkewMs);
  });

  it('a run that protects an object from deletion is over when the grace is', () => {
    expect(least.deleteGraceMs).toBeGreaterThan(longestRunMs + 2 * most.clockSkewMs);
  });

  it('clients that wait are answered before the function times out', () => {
    expect(most.inlineReconcileBudgetMs).toBeLessThan(seconds('lfsBatch'));
    expect(most.scanWaitMs).toBeLessThan(seconds('getSubscription'));
  });

  it('a URL expires before its reservation', () => {
    for (const settings of [least, most]) {
      expect(settings.reservationSlackMs).toBeGreaterThan(2 * settings.clockSkewMs);
      expect(settings.urlLifetimeMs).toBeLessThanOrEqual(3_600_000);
    }
  });
});
