import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { sha256Hex } from '../../domain/hash.ts';
import type { AdminCredential } from '../../ports/credentials.ts';
import { AwsServiceError } from '../aws-sdk/service-error.ts';
import { readSecret } from './client.ts';
import { keptFor } from './kept-for.ts';

/** How long a fetched secret is used. A rotated secret takes effect after that, without a deployment. */
const keepMs = 5 * 60_000;
/** How long the token before a rotation is accepted: functions learn of the new one at different times. */
const overlapMs = 60 * 60_000;

/** The operator's token from Secrets Manager, and for an hour after its rotation the one before. Only hashes are kept. */
export function createAdminSecret(input: {
  client: SecretsManagerClient;
  secretArn: string;
  nowMs: () => number;
}): AdminCredential {
  const { client, secretArn, nowMs } = input;
  const fetchHashes = async (): Promise<readonly string[]> => {
    const { text, createdAtMs = 0 } = await readSecret(client, { secretArn });
    if (text === undefined) throw new Error('The admin secret has no value.');
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
