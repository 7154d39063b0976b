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
