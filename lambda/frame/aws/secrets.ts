import {
  GetSecretValueCommand,
  SecretsManagerClient,
  type SecretsManagerClientConfig,
} from '@aws-sdk/client-secrets-manager';
import * as z from 'zod';
import { AwsServiceError, SecretError } from '../../core/rules/errors.ts';
import { sha256Hex } from '../../core/rules/hash.ts';
import { calling, clientOptions, isRefusal } from '../../core/table/sdk.ts';
import type { AdminCredential } from '../access/rules/tokens.ts';

const limits = { attemptsMax: 3, connectMs: 1000, answerMs: 3000 };

/** @param config goes before what the environment says. */
export function createSecretsClient(config: SecretsManagerClientConfig = {}): SecretsManagerClient {
  return new SecretsManagerClient({ ...clientOptions(limits), ...config });
}

/**
 * @param input.version the one before the current one. Omitted: the current one.
 * @returns the text of a secret, undefined if it has none, and when this version of it was made.
 * @throws {AwsServiceError} if it could not be read.
 */
async function readSecret(
  client: SecretsManagerClient,
  { secretArn: SecretId, version: VersionStage }: { secretArn: string; version?: 'AWSPREVIOUS' },
): Promise<{ text: string | undefined; createdAtMs: number | undefined }> {
  const command = new GetSecretValueCommand({ SecretId, ...(VersionStage && { VersionStage }) });
  const asked = { title: 'Secrets Manager', operation: 'GetSecretValue' };
  const { SecretString, CreatedDate } = await calling(asked, () => client.send(command));
  return { text: SecretString || undefined, createdAtMs: CreatedDate?.getTime() };
}

/** How long a value is used that cannot be read again, by an error that may pass. */
const keepThroughErrorsMs = 60 * 60_000;
/** Until such a read is repeated. Its callers wait for it, so one in a minute is slow. */
const retryAfterMs = 60_000;

/**
 * A reader that fetches once, and then answers from memory for `keepMs`. Callers at the same time share one fetch. If
 * the value cannot be fetched again for now, the old one is used for up to an hour. Any other failure is the callers',
 * and the next caller fetches again.
 */
function keptFor<T>(
  fetchValue: () => Promise<T>,
  options: { keepMs: number; nowMs: () => number },
): () => Promise<T> {
  let kept: { readonly value: T; readonly fetchedAtMs: number } | undefined;
  let freshUntilMs = Number.NEGATIVE_INFINITY;
  let fetching: Promise<T> | undefined;
  const fetchAgain = async (nowMs: number): Promise<T> => {
    try {
      const value = await fetchValue();
      kept = { value, fetchedAtMs: nowMs };
      freshUntilMs = nowMs + options.keepMs;
      return value;
    } catch (error) {
      const failedAtMs = options.nowMs();
      if (kept === undefined || !mayPass(error) || failedAtMs - kept.fetchedAtMs > keepThroughErrorsMs)
        throw error;
      freshUntilMs = failedAtMs + retryAfterMs;
      return kept.value;
    } finally {
      fetching = undefined;
    }
  };
  return async () => {
    const nowMs = options.nowMs();
    if (kept !== undefined && nowMs <= freshUntilMs) return kept.value;
    fetching ??= fetchAgain(nowMs);
    return await fetching;
  };
}

/** The service did not answer, was throttled or failed: nobody has to change something. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof AwsServiceError)) return false;
  return error.status === undefined || !isRefusal({ status: error.status, name: error.code });
}

/** How long a fetched secret is used. A rotated secret takes effect after that, without a deployment. */
const keepMs = 5 * 60_000;
/** How long the token before a rotation is accepted: functions learn of the new one at different times. */
const overlapMs = 60 * 60_000;

/** How a secret is read. */
interface SecretPlace {
  client: SecretsManagerClient;
  secretArn: string;
  nowMs: () => number;
}

/** The operator's token from Secrets Manager, and for an hour after its rotation the one before. Only hashes are kept. */
export function createAdminSecret({ client, secretArn, nowMs }: SecretPlace): AdminCredential {
  const fetchHashes = async (): Promise<readonly string[]> => {
    const { text, createdAtMs = 0 } = await readSecret(client, { secretArn });
    if (text === undefined) throw new SecretError('The admin secret has no value.');
    const previous = nowMs() - createdAtMs < overlapMs ? await readPrevious(client, secretArn) : undefined;
    return [text, ...(previous === undefined ? [] : [previous])].map(sha256Hex);
  };
  return { sha256s: keptFor(fetchHashes, { keepMs, nowMs }) };
}

/** Undefined: there is none, or it can't be read now. The current token alone is enough to go on. */
async function readPrevious(client: SecretsManagerClient, secretArn: string): Promise<string | undefined> {
  try {
    const { text } = await readSecret(client, { secretArn, version: 'AWSPREVIOUS' });
    return text;
  } catch (error) {
    if (error instanceof AwsServiceError) return undefined;
    throw error;
  }
}

/**
 * What a secret is for. Fetched at most once in five minutes.
 *
 * @param parse makes it of the text, undefined if the secret has none. It throws if it can't.
 */
export function createSecret<T>(
  { client, secretArn, nowMs }: SecretPlace,
  parse: (text: string | undefined) => T,
): () => Promise<T> {
  const fetchValue = async () => parse((await readSecret(client, { secretArn })).text);
  return keptFor(fetchValue, { keepMs, nowMs });
}

const secret = z.object({ accessKeyId: z.string().min(1), secretAccessKey: z.string().min(1) });

/**
 * A credentials provider for an external S3-compatible store. It reads a secret `{"accessKeyId": …,
 * "secretAccessKey": …}` from Secrets Manager, at most once in five minutes for all that share it.
 *
 * Rotated credentials take effect without a deployment. The old ones may still sign for five minutes after the
 * rotation, and what they signed is used until it expires. So they must stay valid for five minutes plus the lifetime
 * of a presigned URL.
 */
export const storeCredentials = (place: SecretPlace) =>
  createSecret(place, (text) => {
    const parsed = secret.safeParse(jsonIn(text));
    if (!parsed.success) {
      throw new SecretError(
        'The secret with the credentials of the store must be {"accessKeyId": …, "secretAccessKey": …}.',
      );
    }
    return parsed.data;
  });

/** Undefined if the text is no JSON. The error of the parser would quote it. */
function jsonIn(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? 'null');
  } catch {
    return undefined;
  }
}
