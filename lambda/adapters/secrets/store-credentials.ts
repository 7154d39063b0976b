import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as z from 'zod';
import { readSecret } from './client.ts';
import { keptFor } from './kept-for.ts';

const secret = z.object({ accessKeyId: z.string().min(1), secretAccessKey: z.string().min(1) });

/** How long fetched credentials are used. */
const keepMs = 5 * 60_000;

/**
 * A credentials provider for an external S3-compatible store. It reads a secret `{"accessKeyId": …,
 * "secretAccessKey": …}` from Secrets Manager, at most once in five minutes for all that share it.
 *
 * Rotated credentials take effect without a deployment. The old ones may still sign for five minutes after the
 * rotation, and what they signed is used until it expires. So they must stay valid for five minutes plus the lifetime
 * of a presigned URL.
 */
export function storeCredentials(input: {
  client: SecretsManagerClient;
  secretArn: string;
  nowMs: () => number;
}) {
  const fetchCredentials = async () => {
    const { text } = await readSecret(input.client, { secretArn: input.secretArn });
    const parsed = secret.safeParse(jsonIn(text));
    if (!parsed.success) {
      throw new Error(
        'The secret with the credentials of the store must be {"accessKeyId": …, "secretAccessKey": …}.',
      );
    }
    return parsed.data;
  };
  return keptFor(fetchCredentials, { keepMs, nowMs: input.nowMs });
}

/** Undefined if the text is no JSON. The error of the parser would quote it. */
function jsonIn(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? 'null');
  } catch {
    return undefined;
  }
}
