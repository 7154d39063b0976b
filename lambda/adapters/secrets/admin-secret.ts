import { sha256Hex } from '../../domain/hash.ts';
import type { AdminCredential } from '../../ports/credentials.ts';
import type { AwsJsonClient } from '../aws-http/json-client.ts';
import { readSecret } from './client.ts';
import { keptFor } from './kept-for.ts';

/** How long a fetched secret is used. A rotated secret takes effect after that, without a deployment. */
const keepMs = 5 * 60_000;

const limits = { attemptsMax: 3, connectMs: 1000, answerMs: 3000 };

/** The operator's token from Secrets Manager. Only its hash is kept. */
export function createAdminSecret(input: {
  client: AwsJsonClient;
  secretArn: string;
  nowMs: () => number;
}): AdminCredential {
  const fetchHash = async () => {
    const token = await readSecret(input.client, { secretArn: input.secretArn, limits });
    if (token === undefined) throw new Error('The admin secret has no value.');
    return sha256Hex(token);
  };
  return { sha256: keptFor(fetchHash, { keepMs, nowMs: input.nowMs }) };
}
