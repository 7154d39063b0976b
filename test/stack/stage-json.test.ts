import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { runInNewContext } from 'node:vm';
import { App, Duration, Stack } from 'aws-cdk-lib';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { build } from 'esbuild';
import { afterAll, describe, expect, it } from 'vitest';
import { defaultSettings, settingsFromJson } from '../../lambda/core/rules/settings.ts';
import { adoptedReposFromJson } from '../../lambda/core/store/rules/adopted-repos.ts';
import { type FunctionName, handlerFiles } from '../../lambda/routes.ts';
import { Bundles, bundling } from '../../lib/functions/bundles.ts';
import { HandlerFunction, stageJson } from '../../lib/functions/functions.ts';
import type { DeploymentSettingsInput } from '../../lib/settings/deployment-settings.ts';
import { parseDeploymentSettings } from '../../lib/settings/stages.ts';
import type { TestedSubject } from '../support/subject.ts';
import * as subjects from '../support/subjects.ts';

const gitea = { tenant: 'acme', repo: 'game', path: 'lfs/', names: 'ab/cd/rest' } as const;
const objectStore = {
  kind: 'external',
  endpoint: 'https://0a1b.r2.cloudflarestorage.com',
  region: 'auto',
  bucket: 'lfs-objects',
  credentialsSecretArn: 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:r2-AbCdEf',
  storageClasses: ['STANDARD', 'STANDARD_IA'],
} as const;
const stage = {
  protocol: { urlLifetimeMinutes: 15, objectMaxMiB: 100 },
  adoptedRepos: [gitea],
  // What a shell would take for its own.
  limitContactUrl: `https://of-this-stage.example/?a=$(exit)\`exit\`&b=%20`,
  objectStore: { ...objectStore, storageClasses: [...objectStore.storageClasses] },
} satisfies DeploymentSettingsInput;

const code = Object.values<TestedSubject>(subjects).flatMap((each) => Object.entries(each.code ?? {}));

const jsonOf = (settings: DeploymentSettingsInput) => stageJson(parseDeploymentSettings('test', settings));
/** The text that an expression stands for. */
const text = (expression = ''): string | undefined =>
  expression === 'undefined' ? undefined : JSON.parse(expression);

describe('the settings that become code', () => {
  it('are read as they were set', () => {
    const json = jsonOf(stage);
    expect(settingsFromJson(text(json['stageJson.protocol']))).toEqual({
      ...defaultSettings,
      urlLifetimeMs: 900_000,
      objectBytesMax: 104_857_600,
    });
    expect(adoptedReposFromJson(text(json['stageJson.adoptedRepos']))).toEqual([gitea]);
    expect(text(json['stageJson.limitContactUrl'])).toBe(stage.limitContactUrl);
    expect(text(json['stageJson.storageClasses'])).toBe('STANDARD,STANDARD_IA');
    const none = jsonOf({ objectStore: { ...stage.objectStore, storageClasses: undefined } });
    expect(text(none['stageJson.storageClasses'])).toBe('');
  });

  it.each(code)('are read as they were set: %s', (name, { set, read }) => {
    expect(read(text(jsonOf({ [name]: set })[`stageJson.${name}`]))).toEqual(set);
  });

  it('are undefined where a stage has the defaults', () => {
    expect(new Set(Object.values(jsonOf({})))).toEqual(new Set(['undefined']));
  });

  const haveSome = new Map(Object.entries(parseDeploymentSettings('test', {})));
  const emptied = code.filter(([name]) => haveSome.get(name)?.toString() !== '');
  it.each(emptied)('are in code where a stage wants none: %s', (name) => {
    expect(text(jsonOf({ [name]: [] })[`stageJson.${name}`])).toBe('[]');
  });

  it('are in the bundles of all functions that use them, and in no other', async () => {
    const names = Object.keys(jsonOf({}));
    const built = await build({
      entryPoints: Object.values(handlerFiles).map((file) => `lambda/functions/${file}`),
      define: {
        ...Object.fromEntries(names.map((name) => [name, JSON.stringify(`it has ${name}`)])),
        builtFrom: JSON.stringify({ version: 'it has a version', commit: null }),
      },
      ...bundling,
      outdir: 'out',
    });
    const fileOf = Object.entries(handlerFiles) as [FunctionName, string][];
    const functionsWith = (name: string) =>
      fileOf.flatMap(([handler, file]) => {
        const output = built.outputFiles.find(
          ({ path }) => relative('out', path) === file.replace('.ts', '.mjs'),
        );
        return output?.text.includes(`it has ${name}`) ? [handler] : [];
      });
    const bare = ['console', 'health', 'notFound'];
    const composed = fileOf.map(([name]) => name).filter((name) => !bare.includes(name));
    expect(functionsWith('stageJson.protocol')).toEqual(composed);
    // Each log line has it.
    expect(new Set(functionsWith('a version'))).toEqual(new Set([...composed, 'health']));
    // What sends keys to the store, or hears of keys.
    const withoutKeys = [
      'lfsLocks',
      'exchangeToken',
      'signIn',
      'refresh',
      'sendWebhook',
      'sendEmail',
      'copyObject',
    ];
    expect(functionsWith('stageJson.adoptedRepos')).toEqual(
      composed.filter((name) => !withoutKeys.includes(name)),
    );
    for (const [name, { functions }] of code)
      expect(functionsWith(`stageJson.${name}`).sort()).toEqual([...functions].sort());
    expect(functionsWith('stageJson.limitContactUrl')).toEqual(['management']);
    expect(functionsWith('stageJson.storageClasses').sort()).toEqual([
      'assembleUpload',
      'files',
      'lfsBatch',
      'management',
    ]);
    expect(built.outputFiles.map((output) => output.text).join()).not.toMatch(/\bstageJson\.\w+[^\w"]/);
  });
});

describe('a function', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-stage-json-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Bundles the operator's API as a deployment does. @returns its code. */
  function bundled(settings: DeploymentSettingsInput): { asset: string; code: string } {
    const app = new App({ analyticsReporting: false, outdir: mkdtempSync(join(folder, 'cdk-')) });
    const stack = new Stack(app, 'stack');
    new HandlerFunction(stack, 'management', {
      code: new Bundles([handlerFiles.management], jsonOf(settings)).code(handlerFiles.management),
      description: '',
      timeout: Duration.seconds(3),
      memoryMb: 128,
      reservedConcurrency: undefined,
      environment: {},
      statements: [],
      logRetentionDays: RetentionDays.ONE_DAY,
    });
    const { template } = app.synth().getStackByName('stack');
    const [
      {
        Properties: { Code },
      } = { Properties: { Code: { S3Key: '' } } },
    ] = Object.values<{
      Type: string;
      Properties: { Code: { S3Key: string } };
    }>(template.Resources).filter(({ Type }) => Type === 'AWS::Lambda::Function');
    const asset = Code.S3Key.replace('.zip', '');
    return { asset, code: readFileSync(join(app.outdir, `asset.${asset}`, 'index.mjs'), 'utf8') };
  }

  it('is deployed anew when one of its settings changes', () => {
    const [before, after] = [bundled({}), bundled({ limitContactUrl: stage.limitContactUrl })];
    expect(before.asset).not.toBe(after.asset);
    expect(textsIn(before.code, 'https://of-this-stage')).toEqual([]);
    expect(textsIn(after.code, 'https://of-this-stage')).toEqual([stage.limitContactUrl]);
  });

  it.each(code)('has its settings in its code as they were set: %s', (name, { set }) => {
    expect(textsIn(bundled({ [name]: set }).code, '[{')).toEqual([JSON.stringify(set)]);
  });
});

/** The texts in code that begin so. */
function textsIn(code: string, start: string): unknown[] {
  const literal = new RegExp(`(["'\`])${start.replace(/[[{]/g, '\\$&')}.*?(?<!\\\\)\\1`, 'g');
  return [...code.matchAll(literal)].map(([written]) => runInNewContext(written));
}
