import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as z from 'zod';

const secret = z.object({ accessKeyId: z.string().min(1), secretAccessKey: z.string().min(1) });

/** How long fetched credentials are used. Rotated credentials take effect after that, without a deployment. */
const keepMs = 5 * 60_000;

/**
 * A credentials provider for an external S3-compatible store. It reads a secret `{"accessKeyId": …,
 * "secretAccessKey": …}` from Secrets Manager. The SDK calls it again when the credentials expire.
 */
export function storeCredentials(input: { secretArn: string; nowMs: () => number }) {
  const client = new SecretsManagerClient({ maxAttempts: 3 });
  return async () => {
    const output = await client.send(new GetSecretValueCommand({ SecretId: input.secretArn }));
    const parsed = secret.safeParse(JSON.parse(output.SecretString ?? 'null'));
    if (!parsed.success) {
      throw new Error(
        'The secret with the credentials of the store must be {"accessKeyId": …, "secretAccessKey": …}.',
      );
    }
    return { ...parsed.data, expiration: new Date(input.nowMs() + keepMs) };
  };
}
