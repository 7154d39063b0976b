import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Belongings } from '../../../lambda/core/ledger/seams.ts';
import { defaultSettings } from '../../../lambda/core/rules/settings.ts';
import { newCdnKey, passesCloudFront } from '../../support/cdn.ts';
import { LyingStore } from '../../support/lying-store.ts';
import { memoryDeps } from '../../support/memory/deps.ts';
import { credentials } from '../../support/store-fixture.ts';
import { defaults, deployedWith, withExports } from './deployed-with.ts';

/** Composes the function of the schedule of a stage with these settings of the protocol. */
async function composeWith(protocol: string | undefined) {
  deployedWith({});
  vi.stubGlobal('stageJson', { ...defaults, protocol });
  const { refreshDeps } = await import('../../../lambda/functions/refresh.ts');
  return refreshDeps();
}

/** What a function asks of each service. */
const services = [
  {
    service: 'SQS',
    scope: 'sqs',
    call: async () => {
      const { refreshDeps } = await import('../../../lambda/functions/refresh.ts');
      await refreshDeps().queue.request({ tenant: 'acme', reason: 'upload', full: false });
    },
  },
  {
    service: 'DYNAMODB',
    scope: 'dynamodb',
    call: async () => {
      const { refreshDeps } = await import('../../../lambda/functions/refresh.ts');
      await refreshDeps().ledger.readTenant('acme');
    },
  },
  {
    service: 'SECRETS_MANAGER',
    scope: 'secretsmanager',
    call: async () => {
      const { managementDeps } = await import('../../../lambda/functions/management.ts');
      await managementDeps().admin.sha256s();
    },
  },
];

describe('a deployed function', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.unstubAllGlobals();
  });

  it.each(
    services.flatMap((each) => [
      { ...each, name: 'AWS_ENDPOINT_URL', general: undefined },
      { ...each, name: `AWS_ENDPOINT_URL_${each.service}`, general: 'http://127.0.0.1:9' },
    ]),
  )('reaches what stands in for $service, by $name', async ({ scope, call, name, general }) => {
    const seen: (string | undefined)[] = [];
    const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(403).end('{"__type":"AccessDenied","message":"by the stand-in"}');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    // A function's queues share a client.
    vi.resetModules();
    deployedWith({ AWS_ENDPOINT_URL: general, [name]: `http://127.0.0.1:${port}` });
    const error: unknown = await call().catch((thrown: unknown) => thrown);
    expect(inspect(error)).toContain('AccessDenied: by the stand-in');
    expect(seen).toEqual([expect.stringMatching(new RegExp(`ASIAROLE/\\d{8}/eu-central-1/${scope}/`))]);
    server.closeAllConnections();
    server.close();
  });

  it('knows where people ask for a higher limit', async () => {
    deployedWith({});
    const limitContactUrl = 'mailto:support@example.com';
    vi.stubGlobal('stageJson', { ...defaults, limitContactUrl });
    const { managementDeps } = await import('../../../lambda/functions/management.ts');
    expect(managementDeps()).toMatchObject({ limitContactUrl });
  });

  it.each([
    [undefined, ['STANDARD', 'STANDARD_IA', 'ONEZONE_IA', 'INTELLIGENT_TIERING', 'GLACIER_IR']],
    ['', []],
    ['STANDARD_IA', ['STANDARD_IA']],
  ])('knows the storage classes of its store: %j', async (storageClasses, found) => {
    deployedWith({});
    vi.stubGlobal('stageJson', { ...defaults, storageClasses });
    const { batchDeps } = await import('../../../lambda/functions/lfs/lfs-batch.ts');
    const { managementDeps } = await import('../../../lambda/functions/management.ts');
    expect([batchDeps().storageClasses, managementDeps().storageClasses]).toEqual([found, found]);
  });

  it('knows the queues that the operator may look at, and its store', async () => {
    deployedWith({});
    const { managementDeps } = await import('../../../lambda/functions/management.ts');
    const { queueGauges, storeProbe } = managementDeps();
    expect(queueGauges.map(({ queue }) => queue)).toEqual(['reconciles']);
    expect(storeProbe).toMatchObject({ kind: 's3', endpoint: null, bucket: 'objects' });
  });

  it('takes S3 at its word, and tries another store', async () => {
    const { managementDeps } = await import('../../../lambda/functions/management.ts');
    deployedWith({});
    expect(await managementDeps().proveOnlyNew()).toEqual({ kind: 'holds' });
    const store = await LyingStore.start({ overlooks: ({ code }) => code === 'PreconditionFailed' });
    onTestFinished(() => store.stop());
    deployedWith({
      LFS_QUOTA_S3_ENDPOINT: store.url,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    });
    expect(await managementDeps().proveOnlyNew()).toEqual({ kind: 'replaces', status: 200 });
  });

  it('runs with the defaults if the stage changes nothing', async () => {
    expect((await composeWith(undefined)).settings).toEqual(defaultSettings);
  });

  it('runs with what the stage changes', async () => {
    const { settings } = await composeWith('{"urlLifetimeMs":900000,"refreshTenantsMax":7}');
    expect(settings).toEqual({ ...defaultSettings, urlLifetimeMs: 900_000, refreshTenantsMax: 7 });
  });

  it.each([
    ['{"urlLifetime', "It isn't valid JSON."],
    ['{"urlLifetime":1}', `"urlLifetime" isn't a setting of this version.`],
  ])('does not start with %s', async (text, message) => {
    await expect(composeWith(text)).rejects.toThrow(message);
  });

  it('does not start with adopted repos that it cannot read, or without any word of the settings', async () => {
    deployedWith({});
    vi.stubGlobal('stageJson', { ...defaults, adoptedRepos: '[{}]' });
    const { managementDeps } = await import('../../../lambda/functions/management.ts');
    expect(managementDeps).toThrow('Entry 1 of the adopted repos');
    vi.unstubAllGlobals();
    expect(managementDeps).toThrow('stageJson is not defined');
  });

  it('signs objects for CloudFront if the stage has it, by their key in the bucket, and says if the key is a wrong one', async () => {
    const pair = newCdnKey();
    let text = pair.privateKey;
    const server = createServer({ keepAliveTimeout: 60_000 }, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1' });
      response.end(JSON.stringify({ SecretString: text }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    deployedWith({
      AWS_ENDPOINT_URL_SECRETS_MANAGER: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      LFS_QUOTA_CDN_URL: 'https://d1.cloudfront.net',
      LFS_QUOTA_CDN_KEY_ID: 'K1',
      LFS_QUOTA_CDN_PUBLIC_KEY: pair.publicKey,
      LFS_QUOTA_CDN_SECRET_ARN: 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:cdn',
    });
    const adopted = { tenant: 'acme', repo: 'old', path: 'lfs/a+b/', names: 'ab/cd/rest' };
    vi.stubGlobal('stageJson', { ...defaults, adoptedRepos: JSON.stringify([adopted]) });
    const { batchDeps } = await import('../../../lambda/functions/lfs/lfs-batch.ts');
    const oid = 'ab'.repeat(32);
    const signedAtMs = Date.now();
    const times = { signedAtMs, lifetimeMs: 60_000 };
    const { signer } = batchDeps();
    const { href } = await signer.signDownload({ key: `acme/old/${oid}`, sizeBytes: 1, ...times });
    expect(href.split('?')[0]).toBe(`https://d1.cloudfront.net/lfs/a%2Bb/ab/ab/${'ab'.repeat(30)}`);
    expect(passesCloudFront(href, { publicKey: pair.publicKey, keyId: 'K1', atMs: signedAtMs })).toBe(true);
    const upload = { key: `acme/new/${oid}`, oid, sizeBytes: 1, ...times };
    expect((await signer.signUpload(upload)).href).toMatch(/^https:\/\/objects\.s3\.eu-central-1/);
    text = newCdnKey().privateKey;
    await expect(batchDeps().signer.signDownload({ key: `acme/new/${oid}`, ...times })).rejects.toThrow(
      'The secret in objectStore.cdn.privateKeyArn must be',
    );
    server.closeAllConnections();
    server.close();
  });

  it('ends all that one process ends: what closes where repos are deleted, what forgets where reconciles run', async () => {
    deployedWith(withExports);
    const { managementDeps } = await import('../../../lambda/functions/management.ts');
    const { reconcileDeps } = await import('../../../lambda/functions/reconcile.ts');
    const counts = (all: readonly Belongings[], names: readonly (keyof Belongings)[]) =>
      names.map((name) => all.filter((each) => each[name]).length);
    const { belongings } = memoryDeps();
    const [closing, forgetting] = [
      ['knows', 'closeRepo', 'closeTenant'],
      ['forgetRepo', 'forgetTenant'],
    ] as const;
    expect(counts(managementDeps().belongings, closing)).toEqual(counts(belongings, closing));
    expect(counts(reconcileDeps().belongings, forgetting)).toEqual(counts(belongings, forgetting));
    expect(counts(belongings, [...closing, ...forgetting])).not.toContain(0);
  });

  it('knows the issuers and git hosts of the stage', async () => {
    const gitHost = { id: 'github', kind: 'github', url: 'https://api.github.com' };
    const issuer = { issuer: 'https://a.example.com', jwksUri: 'https://a.example.com/keys', kind: 'gitlab' };
    deployedWith({});
    vi.stubGlobal('stageJson', {
      ...defaults,
      gitHosts: JSON.stringify([gitHost]),
      identityIssuers: JSON.stringify([issuer]),
    });
    const { managementDeps } = await import('../../../lambda/functions/management.ts');
    expect(managementDeps()).toMatchObject({ gitHosts: [gitHost], issuers: [issuer] });
  });
});
