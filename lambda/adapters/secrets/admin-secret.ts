import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { sha256Hex } from '../../domain/hash.ts';
import type { AdminCredential } from '../../ports/credentials.ts';

/** How long a fetched secret is good for, so that a rotated one is taken up without a deployment. */
const keepMs = 5 * 60_000;

/** The operator's token from Secrets Manager; only its hash is kept. */
export function createAdminSecret(input: { secretArn: string; nowMs: () => number }): AdminCredential {
  const client = new SecretsManagerClient({ maxAttempts: 3 });
  let fetched: { sha256: Promise<string>; atMs: number } | undefined;
  const fetchSecret = async () => {
    const output = await client.send(new GetSecretValueCommand({ SecretId: input.secretArn }));
    if (!output.SecretString) throw new Error('The admin secret has no value.');
    return sha256Hex(output.SecretString);
  };
  return {
    sha256() {
      if (!fetched || input.nowMs() - fetched.atMs > keepMs) {
        const sha256 = fetchSecret();
        fetched = { sha256, atMs: input.nowMs() };
        // A failure is not kept: the next one asks again.
        sha256.catch(() => {
          fetched = undefined;
        });
      }
      return fetched.sha256;
    },
  };
}
