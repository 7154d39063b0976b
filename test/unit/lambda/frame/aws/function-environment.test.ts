import { expect, it } from 'vitest';
import { roleCredentials } from '../../../../../lambda/frame/aws/function-environment.ts';

const env = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret', AWS_SESSION_TOKEN: 'session' };

it('are those of the environment', () => {
  expect(roleCredentials(env)).toEqual({
    accessKeyId: 'id',
    secretAccessKey: 'secret',
    sessionToken: 'session',
  });
});

it('have no session token if there is none', () => {
  const without = { accessKeyId: 'id', secretAccessKey: 'secret' };
  expect(roleCredentials({ ...env, AWS_SESSION_TOKEN: '' })).toEqual(without);
});

it('must be there', () => {
  expect(() => roleCredentials({ ...env, AWS_SECRET_ACCESS_KEY: undefined })).toThrow(
    "AWS_SECRET_ACCESS_KEY aren't set",
  );
});
