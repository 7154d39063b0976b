import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as z from 'zod';

const secret = z.object({ accessKeyId: z.string().min(1), secretAccessKey: z.string().min(1) });

/** How long fetched credentials are good for, so that rotated ones are taken up without a deployment. */
const keepMs = 5 * 60_000;

/**
 * Credentials of an external S3-compatible store, from a secret `{"accessKeyId", "secretAccessKey"}`. The
 * SDK asks again once they expire.
 */
export function storeCredentials(input: { secretArn: string; nowMs: () => number }) {
  const client = new SecretsManagerClient({ maxAttempts: 3 });
  return async () => {
    const output = await client.send(new GetSecretValueCommand({ SecretId: input.secretArn }));
    const parsed = secret.safeParse(JSON.parse(output.SecretString ?? 'null'));
    if (!parsed.success) {
      throw new Error('The store credentials secret must be {"accessKeyId": …, "secretAccessKey": …}.');
    }
    return { ...parsed.data, expiration: new Date(input.nowMs() + keepMs) };
  };
}
