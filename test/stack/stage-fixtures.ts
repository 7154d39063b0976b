import { z } from 'zod';
import { adoptedPathCharactersMax } from '../../lambda/core/store/rules/adopted-repos.ts';
import { type DeploymentSettingsInput, everySetting } from '../../lib/settings/deployment-settings.ts';
import { newCdnKey } from '../support/cdn.ts';
import { listOf, longestHost } from '../support/longest.ts';
import type { TestedSubject } from '../support/subject.ts';
import * as subjects from '../support/subjects.ts';

/** Settings of stages that stand for all: what holds for their templates holds for those of any stage. */
interface DeploymentFixture {
  readonly name: string;
  readonly settings: DeploymentSettingsInput;
}

const ofSubjects = Object.values<TestedSubject>(subjects);

/** The longest name that a stage can have. */
export const longestStage = 's'.repeat(20);

const longestOrigin = `https://${longestHost}:65535`;
const arn = (place: string, rest: string) => `arn:aws:${place}:111122223333:${rest}`;
const certificateArn = arn('acm:ap-southeast-1', `certificate/${'0'.repeat(36)}`);
const credentialsSecretArn = arn('secretsmanager:ap-southeast-1', `secret:${'n'.repeat(505)}-AbCdEf`);

const externalStore = {
  kind: 'external',
  endpoint: longestOrigin,
  region: 'r'.repeat(64),
  bucket: 'b'.repeat(63),
  credentialsSecretArn,
} as const;

/** As many as a stage may have, each as long as it may be, and none with its own folders as deep as those of tenants. */
const adoptedRepos = listOf(20, (index) => ({
  tenant: `${'t'.repeat(38)}${index}`,
  repo: `${'r'.repeat(98)}${index}`,
  path: `${'p'.repeat(adoptedPathCharactersMax - 3)}${index}/`,
  names: 'oid' as const,
}));
interface Shape {
  readonly type?: string;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Shape>>;
}

/** Every number at its documented maximum, and every switch on. */
function atMaximum({ properties = {} }: Shape): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, shape]): [string, unknown][] => {
      if (shape.properties) return [[name, atMaximum(shape)]];
      if (shape.type === 'boolean') return [[name, true]];
      const hasMaximum = shape.maximum !== undefined && shape.maximum < Number.MAX_SAFE_INTEGER;
      return hasMaximum ? [[name, shape.maximum]] : [];
    }),
  );
}

const shape = z.toJSONSchema(everySetting, { io: 'input', unrepresentable: 'any' }) as Shape;
const most: DeploymentSettingsInput = {
  ...atMaximum(shape),
  alarms: { email: `${'e'.repeat(50)}@example.com`, reconcileAgeHours: 1_000, reconcileFailures: 12 },
  email: { from: `${'e'.repeat(60)}@example.com` },
  domain: { name: longestHost, certificateArn, keepDefaultUrl: false },
  objectStore: {
    kind: 'bucket',
    keepDeletedDays: 3_650,
    cdn: {
      publicKeys: Array.from({ length: 5 }, () => newCdnKey().publicKey),
      privateKeyArn: credentialsSecretArn,
    },
  },
  publicUrl: longestOrigin,
  corsOrigins: listOf(20, (index) => `${longestOrigin.slice(0, -2)}${index}`),
  logLevel: 'ERROR',
  logRetentionDays: 3_653,
  adoptedRepos,
  ...Object.assign({}, ...ofSubjects.map(({ settings }) => settings?.most)),
};

export const fixtures: readonly DeploymentFixture[] = [
  { name: 'a stage with the defaults', settings: {} },
  { name: 'a stage for trials', settings: { keepData: false, canary: false, logRetentionDays: 7 } },
  {
    name: 'a stage on R2',
    settings: {
      objectStore: {
        ...externalStore,
        endpoint: 'https://0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com',
        region: 'auto',
      },
    },
  },
  {
    name: 'a stage with as little as possible',
    settings: {
      exports: { workers: 0 },
      alerts: { eventBus: false },
      ...Object.assign({}, ...ofSubjects.map(({ settings }) => settings?.least)),
    },
  },
  {
    name: 'a stage in China with a restored table',
    settings: { region: 'cn-northwest-1', account: '111122223333', restoredTableName: 't'.repeat(255) },
  },
  {
    name: 'a stage with the table and the bucket of an earlier one',
    settings: {
      restoredTableName: 't'.repeat(255),
      objectStore: { kind: 'bucket', existingBucket: 'b'.repeat(63) },
    },
  },
  { name: 'a stage with every setting at its maximum', settings: most },
  {
    name: 'a stage with every setting at its maximum, and a restored table',
    settings: { ...most, restoredTableName: 't'.repeat(255) },
  },
  {
    name: 'a stage with every setting at its maximum, and an external store',
    settings: { ...most, storeEvents: false, objectStore: externalStore },
  },
  {
    name: 'a stage that takes over a GitLab',
    settings: {
      adoptedRepos: listOf(18, (index) => ({
        tenant: 'acme',
        repo: `game-${index}`,
        path: `lfs-objects/${index}/`,
        names: 'ab/cd/rest' as const,
      })),
      ...Object.assign({}, ...ofSubjects.map(({ settings }) => settings?.ofGitLab)),
      protocol: { objectMaxMiB: 5_120, putMinBytesPerSecond: 100_000 },
      storeEvents: true,
    },
  },
];
