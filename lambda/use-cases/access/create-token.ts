import { sha256Hex } from '../../domain/hash.ts';
import { tokenIdOf } from '../../domain/token.ts';
import type { TokenRecord, TokenScope } from '../../ports/credentials.ts';
import type { Deps } from '../deps.ts';

/** Random base62 characters of a token: 238 bits. */
const secretLength = 40;

/** Creates a token for a tenant that exists. The secret is in the answer this once, and nowhere else. */
export async function createToken(
  deps: Pick<Deps, 'tokens' | 'ids' | 'clock'>,
  input: { tenant: string; scope: TokenScope; label: string | null },
): Promise<{ token: string; record: TokenRecord }> {
  const token = `lfsq_${deps.ids.random(secretLength)}`;
  const record: TokenRecord = {
    tokenId: tokenIdOf(token),
    secretSha256: sha256Hex(token),
    createdAtMs: deps.clock.nowMs(),
    ...input,
  };
  if ((await deps.tokens.put(record)) === 'exists') {
    // Our own retry after a lost answer finds its own record; another token's id would differ in its hash.
    const found = await deps.tokens.find(record.tokenId);
    if (found?.secretSha256 !== record.secretSha256) throw new Error('Two tokens have the same id.');
  }
  return { token, record };
}
