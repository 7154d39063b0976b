import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { defaultSettings } from '../../../lambda/domain/settings.ts';

/** Composes the function of the schedule as a container with this variable would. */
async function composeWith(settings: string | undefined) {
  vi.resetModules();
  vi.stubEnv('LFS_QUOTA_SETTINGS', settings);
  vi.stubEnv('LFS_QUOTA_TABLE', 'ledger');
  vi.stubEnv('LFS_QUOTA_QUEUE_URL', 'https://sqs.eu-central-1.amazonaws.com/111122223333/recounts.fifo');
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  const { refreshDeps } = await import('../../../lambda/compose.ts');
  return refreshDeps();
}

describe('a deployed function', () => {
  afterEach(() => vi.unstubAllEnvs());

  it.each([
    ['AWS_ENDPOINT_URL', undefined],
    ['AWS_ENDPOINT_URL_SQS', 'http://127.0.0.1:9'],
  ])('sends to what stands in for SQS, by %s', async (name, general) => {
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(403).end('{"__type":"AccessDenied","message":"by the stand-in"}');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    vi.stubEnv('AWS_ENDPOINT_URL', general);
    vi.stubEnv(name, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'ASIAROLE');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    const { queue } = await composeWith(undefined);
    const request = { tenant: 'acme', reason: 'upload', full: false } as const;
    await expect(queue.request(request)).rejects.toThrow('AccessDenied: by the stand-in');
    expect(seen).toEqual([expect.stringMatching(/ASIAROLE\/\d{8}\/eu-central-1\/sqs\//)]);
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
