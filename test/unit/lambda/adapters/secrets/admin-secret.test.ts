import { expect, it } from 'vitest';
import { createAdminSecret } from '../../../../../lambda/adapters/secrets/admin-secret.ts';
import { sha256Hex } from '../../../../../lambda/domain/hash.ts';
import { fakeSecrets, notFound } from './fake-secrets.ts';

const minuteMs = 60_000;
const keepMs = 5 * minuteMs;
const unavailable = { status: 503, body: { name: 'InternalServiceError', message: 'down' } };

function open(text?: string) {
  const clock = { atMs: 0 };
  const { client, ...fake } = fakeSecrets(text);
  return { ...fake, clock, admin: createAdminSecret({ client, secretArn: 'arn', nowMs: () => clock.atMs }) };
}

/** The operator has just put `current` in the place of `previous`. */
function rotated(current: string, previous: string | undefined, atMs = 0) {
  const fake = open();
  fake.secrets.answer = ({ input }) => {
    if (input['VersionStage'] === undefined)
      return { body: { SecretString: current, CreatedDate: new Date(atMs) } };
    return previous === undefined ? notFound : { body: { SecretString: previous, CreatedDate: new Date(0) } };
  };
  return fake;
}

it('the admin secret is read once in five minutes, and its hash is kept', async () => {
  const { clock, admin, secrets, set } = open('old');
  clock.atMs = 100 * minuteMs;
  expect(await Promise.all([admin.sha256s(), admin.sha256s()])).toEqual([
    [sha256Hex('old')],
    [sha256Hex('old')],
  ]);
  set('new');
  clock.atMs += keepMs;
  expect(await admin.sha256s()).toEqual([sha256Hex('old')]);
  clock.atMs += 1;
  expect(await admin.sha256s()).toEqual([sha256Hex('new')]);
  expect(secrets.calls).toEqual(
    new Array(2).fill({ operation: 'GetSecretValue', input: { SecretId: 'arn' } }),
  );
});

it('the token before a rotation is accepted for an hour, so that no function refuses what another takes', async () => {
  const { clock, admin } = rotated('new', 'old', 1_000 * minuteMs);
  for (const [minutes, accepted] of [
    [1_000, ['new', 'old']],
    [1_059, ['new', 'old']],
    [1_065, ['new']],
  ] as const) {
    clock.atMs = minutes * minuteMs;
    expect(await admin.sha256s()).toEqual(accepted.map(sha256Hex));
  }
});

it('a token that was never rotated is accepted alone', async () => {
  expect(await rotated('first', undefined).admin.sha256s()).toEqual([sha256Hex('first')]);
});

it('if Secrets Manager fails, the last tokens are accepted for an hour, and it is asked once a minute', async () => {
  const { clock, admin, secrets, set } = open('token');
  clock.atMs = 1_000 * minuteMs;
  await admin.sha256s();
  secrets.answer = () => unavailable;
  const asked = secrets.calls.length;
  clock.atMs += keepMs + 1;
  for (let call = 0; call < 3; call += 1) expect(await admin.sha256s()).toEqual([sha256Hex('token')]);
  expect(secrets.calls.length - asked).toBe(1);
  clock.atMs = 1_060 * minuteMs;
  expect(await admin.sha256s()).toEqual([sha256Hex('token')]);
  clock.atMs = 1_062 * minuteMs;
  await expect(admin.sha256s()).rejects.toThrow('down');
  set('later');
  expect(await admin.sha256s()).toEqual([sha256Hex('later')]);
});

it('a refusal does not pass, so the last tokens are not accepted any more', async () => {
  const { clock, admin, secrets } = open('token');
  await admin.sha256s();
  secrets.answer = () => notFound;
  clock.atMs = keepMs + 1;
  await expect(admin.sha256s()).rejects.toThrow('later');
});

it('a failed read of the admin secret is not kept', async () => {
  const { admin, clock, secrets, set } = open();
  clock.atMs = 1_000 * minuteMs;
  secrets.answer = () => notFound;
  await expect(Promise.all([admin.sha256s(), admin.sha256s()])).rejects.toThrow('later');
  set('token');
  expect(await admin.sha256s()).toEqual([sha256Hex('token')]);
  expect(secrets.calls).toHaveLength(2);
});

it.each([undefined, ''])('an empty admin secret is an error: %j', async (text) => {
  await expect(open(text).admin.sha256s()).rejects.toThrow('has no value');
});
