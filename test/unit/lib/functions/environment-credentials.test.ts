import { afterEach, expect, it, vi } from 'vitest';
import { defaultProvider } from '../../../../lib/functions/bundled/environment-credentials.ts';

afterEach(() => vi.unstubAllEnvs());

it('returns the credentials from the environment', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'id');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  vi.stubEnv('AWS_SESSION_TOKEN', 'session');
  expect(await defaultProvider()()).toEqual({
    accessKeyId: 'id',
    secretAccessKey: 'secret',
    sessionToken: 'session',
  });
});

it('leaves out the session token if there is none', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'id');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  vi.stubEnv('AWS_SESSION_TOKEN', '');
  expect(await defaultProvider()()).toEqual({ accessKeyId: 'id', secretAccessKey: 'secret' });
});

it('says which variables are missing', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'id');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', undefined);
  await expect(defaultProvider()()).rejects.toThrow('AWS_SECRET_ACCESS_KEY are not set');
});
