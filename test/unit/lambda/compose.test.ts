import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { defaultSettings } from '../../../lambda/domain/settings.ts';

/** The environment of a container. */
function deployedWith(variables: Readonly<Record<string, string | undefined>>): void {
  vi.resetModules();
  vi.stubEnv('LFS_QUOTA_TABLE', 'ledger');
  vi.stubEnv('LFS_QUOTA_QUEUE_URL', 'https://sqs.eu-central-1.amazonaws.com/111122223333/recounts.fifo');
  vi.stubEnv('LFS_QUOTA_BUCKET', 'objects');
  vi.stubEnv('LFS_QUOTA_S3_REGION', 'eu-central-1');
  vi.stubEnv('LFS_QUOTA_ADMIN_SECRET_ARN', 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:admin');
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'ASIAROLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
}

/** Composes the function of the schedule as a container with this variable would. */
async function composeWith(settings: string | undefined) {
  deployedWith({ LFS_QUOTA_SETTINGS: settings });
  const { refreshDeps } = await import('../../../lambda/compose.ts');
  return refreshDeps();
}

/** What a function asks of each service. */
const services = [
  {
    service: 'SQS',
    scope: 'sqs',
    call: async () => {
      const { refreshDeps } = await import('../../../lambda/compose.ts');
      await refreshDeps().queue.request({ tenant: 'acme', reason: 'upload', full: false });
    },
  },
  {
    service: 'DYNAMODB',
    scope: 'dynamodb',
    call: async () => {
      const { refreshDeps } = await import('../../../lambda/compose.ts');
      await refreshDeps().ledger.readTenant('acme');
    },
  },
  {
    service: 'SECRETS_MANAGER',
    scope: 'secretsmanager',
    call: async () => {
      const { managementDeps } = await import('../../../lambda/compose.ts');
      await managementDeps().admin.sha256();
    },
  },
];

describe('a deployed function', () => {
  afterEach(() => vi.unstubAllEnvs());

  it.each(
    services.flatMap((each) => [
      { ...each, name: 'AWS_ENDPOINT_URL', general: undefined },
      { ...each, name: `AWS_ENDPOINT_URL_${each.service}`, general: 'http://127.0.0.1:9' },
    ]),
  )('reaches what stands in for $service, by $name', async ({ scope, call, name, general }) => {
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(403).end('{"__type":"AccessDenied","message":"by the stand-in"}');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    deployedWith({ AWS_ENDPOINT_URL: general, [name]: `http://127.0.0.1:${port}` });
    const error: unknown = await call().catch((thrown: unknown) => thrown);
    expect(inspect(error)).toContain('AccessDenied: by the stand-in');
    expect(seen).toEqual([expect.stringMatching(new RegExp(`ASIAROLE/\\d{8}/eu-central-1/${scope}/`))]);
    server.closeAllConnections();
    server.close();
  });

  it('runs with the defaults if the stage changes nothing', async () => {
    expect((await composeWith(undefined)).settings).toEqual(defaultSettings);
    expect((await composeWith('')).settings).toEqual(defaultSettings);
  });

  it('runs with what the stage changes', async () => {
    const { settings } = await composeWith('{"urlLifetimeMs":900000,"refreshTenantsMax":7}');
    expect(settings).toEqual({ ...defaultSettings, urlLifetimeMs: 900_000, refreshTenantsMax: 7 });
  });

  it.each([
    ['{"urlLifetime', 'It is not valid JSON.'],
    ['{"urlLifetime":1}', '"urlLifetime" is not a setting of this version.'],
  ])('does not start with %s', async (text, message) => {
    await expect(composeWith(text)).rejects.toThrow(
      `The environment variable LFS_QUOTA_SETTINGS is invalid: ${message}`,
    );
  });
});
