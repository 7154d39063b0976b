import type { Deps } from '../../deps.ts';
import { type TokenRecord, tokenUseStepMs } from '../../domain/token.ts';

/**
 * Writes that a token was used, at most once an hour. Whoever uses it waits for that beside other reads, and it never
 * fails a request: when a token was used is worth less than the use.
 */
export async function noteTokenUse(
  { tokens, clock, log }: Pick<Deps, 'tokens' | 'clock' | 'log'>,
  { tokenId, lastUsedAtMs }: Pick<TokenRecord, 'tokenId' | 'lastUsedAtMs'>,
): Promise<void> {
  const atMs = clock.nowMs();
  if (lastUsedAtMs !== null && atMs - lastUsedAtMs < tokenUseStepMs) return;
  try {
    await tokens.noteUse({ tokenId, atMs });
  } catch (error) {
    log.warn('token use not noted', { tokenId, error });
  }
}
