import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, expect, it } from 'vitest';
import { createAdminSecret } from '../../../../../lambda/adapters/secrets/admin-secret.ts';
import { sha256Hex } from '../../../../../lambda/domain/hash.ts';

const keepMs = 5 * 60_000;
const secrets = mockClient(SecretsManagerClient);
afterEach(() => void secrets.reset());

function open() {
  const clock = { atMs: 0 };
  return { clock, admin: createAdminSecret({ secretArn: 'arn', nowMs: () => clock.atMs }) };
}

it('the admin secret is read once in five minutes, and its hash is kept', async () => {
  secrets.on(GetSecretValueCommand).resolvesOnce({ SecretString: 'old' }).resolves({ SecretString: 'new' });
  const { clock, admin } = open();
  expect(await Promise.all([admin.sha256(), admin.sha256()])).toEqual([sha256Hex('old'), sha256Hex('old')]);
  clock.atMs = keepMs;
  expect(await admin.sha256()).toBe(sha256Hex('old'));
  clock.atMs = keepMs + 1;
  expect(await admin.sha256()).toBe(sha256Hex('new'));
  expect(secrets.commandCalls(GetSecretValueCommand)).toHaveLength(2);
});

it('a failed read of the admin secret is not kept', async () => {
  secrets.on(GetSecretValueCommand).rejectsOnce(new Error('later')).resolves({ SecretString: 'token' });
  const { admin } = open();
  await expect(Promise.all([admin.sha256(), admin.sha256()])).rejects.toThrow('later');
  expect(await admin.sha256()).toBe(sha256Hex('token'));
  expect(secrets.commandCalls(GetSecretValueCommand)).toHaveLength(2);
});

it('an empty admin secret is an error', async () => {
  secrets.on(GetSecretValueCommand).resolves({});
  await expect(open().admin.sha256()).rejects.toThrow('has no value');
});
