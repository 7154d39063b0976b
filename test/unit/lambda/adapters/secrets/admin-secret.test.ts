import { expect, it } from 'vitest';
import { createAdminSecret } from '../../../../../lambda/adapters/secrets/admin-secret.ts';
import { sha256Hex } from '../../../../../lambda/domain/hash.ts';
import { fakeSecrets, notFound } from './fake-secrets.ts';

const keepMs = 5 * 60_000;

function open(text?: string) {
  const clock = { atMs: 0 };
  const { client, ...fake } = fakeSecrets(text);
  return { ...fake, clock, admin: createAdminSecret({ client, secretArn: 'arn', nowMs: () => clock.atMs }) };
}

it('the admin secret is read once in five minutes, and its hash is kept', async () => {
  const { clock, admin, secrets, set } = open('old');
  expect(await Promise.all([admin.sha256(), admin.sha256()])).toEqual([sha256Hex('old'), sha256Hex('old')]);
  set('new');
  clock.atMs = keepMs;
  expect(await admin.sha256()).toBe(sha256Hex('old'));
  clock.atMs = keepMs + 1;
  expect(await admin.sha256()).toBe(sha256Hex('new'));
  expect(secrets.calls).toEqual(
    new Array(2).fill({ operation: 'GetSecretValue', input: { SecretId: 'arn' } }),
  );
});

it('a failed read of the admin secret is not kept', async () => {
  const { admin, secrets, set } = open();
  secrets.answer = () => notFound;
  await expect(Promise.all([admin.sha256(), admin.sha256()])).rejects.toThrow('later');
  set('token');
  expect(await admin.sha256()).toBe(sha256Hex('token'));
  expect(secrets.calls).toHaveLength(2);
});

it.each([undefined, ''])('an empty admin secret is an error: %j', async (text) => {
  await expect(open(text).admin.sha256()).rejects.toThrow('has no value');
});
