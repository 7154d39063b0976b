import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { sha256Hex } from '../../core/rules/hash.ts';
import type { AccessPorts } from './ports.ts';
import type { RequestKeyRecord } from './request-key-store.ts';

/** How long a key is remembered. Clients repeat within minutes. */
export const keyLifetimeMs = 24 * 60 * 60_000;

/** The id of a key for one purpose: what it was used for, and for whom. Keys with different purposes never collide. */
export function requestIdOf({ purpose, requestKey }: { purpose: string; requestKey: string }): string {
  return sha256Hex(`${purpose}\n${requestKey}`);
}

type RequestClaim =
  | { readonly kind: 'claimed'; readonly record: RequestKeyRecord; finish(): Promise<void> }
  /** The key was used for a request with another body. */
  | { readonly kind: 'key-reused' };

/**
 * Claims a request key before anything is created. Whoever repeats the request gets the same record, whether the
 * first attempt is still running, has died, or is done.
 *
 * @throws {LedgerUnavailableError}
 */
export async function claimRequest(
  deps: Pick<CoreDeps, 'clock' | 'ids'> & Pick<AccessPorts, 'requestKeys'>,
  input: { purpose: string; requestKey: string; body: unknown },
): Promise<RequestClaim> {
  const { requestKeys, clock, ids } = deps;
  const beganAtMs = clock.nowMs();
  const own: RequestKeyRecord = {
    id: requestIdOf(input),
    bodySha256: sha256Hex(JSON.stringify(input.body)),
    seed: ids.random(40),
    beganAtMs,
    expiresAtMs: beganAtMs + keyLifetimeMs,
    isDone: false,
  };
  const record = await requestKeys.begin(own);
  if (record.bodySha256 !== own.bodySha256) return { kind: 'key-reused' };
  return {
    kind: 'claimed',
    record,
    finish: async () => {
      if (!record.isDone) await requestKeys.finish(record.id);
    },
  };
}
