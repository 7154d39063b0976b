import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { sha256Hex } from '../../domain/hash.ts';
import type { AdminCredential } from '../../ports/credentials.ts';
import { requestHandler } from '../sdk/request-limits.ts';
import { keptFor } from './kept-for.ts';

/** How long a fetched secret is used. A rotated secret takes effect after that, without a deployment. */
const keepMs = 5 * 60_000;

/** The operator's token from Secrets Manager. Only its hash is kept. */
export function createAdminSecret(input: { secretArn: string; nowMs: () => number }): AdminCredential {
  const client = new SecretsManagerClient({
    maxAttempts: 3,
    requestHandler: requestHandler({ connectMs: 1000, answerMs: 3000 }),
  });
  const fetchHash = async () => {
    const output = await client.send(new GetSecretValueCommand({ SecretId: input.secretArn }));
    if (!output.SecretString) throw new Error('The admin secret has no value.');
    return sha256Hex(output.SecretString);
  };
  return { sha256: keptFor(fetchHash, { keepMs, nowMs: input.nowMs }) };
}
