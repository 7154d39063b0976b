import { nextMonthMs } from '../../domain/calendar.ts';
import { objectKey } from '../../domain/names.ts';
import { sumClaims } from '../../domain/reservation.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { SignedRequest } from '../../ports/object-store.ts';
import type { Deps } from '../deps.ts';
import { findGone } from './find-gone.ts';
import { type FindOfferedDeps, findOffered } from './find-offered.ts';
import { correctMeter, meterOffer, monthlyOffer } from './meter-offer.ts';

export type DownloadVerdict =
  | { readonly kind: 'download'; readonly get: SignedRequest; readonly expiresInMs: number }
  | { readonly kind: 'missing' }
  /** A clean-up has deleted it, because nothing needed it. */
  | { readonly kind: 'gone'; readonly atMs: number }
  | { readonly kind: 'size-conflict'; readonly storedBytes: number };

export type OfferDownloadOutcome =
  | { readonly kind: 'answered'; readonly verdicts: ReadonlyMap<string, DownloadVerdict> }
  /** The month's limit would be exceeded. Nothing was offered. */
  | {
      readonly kind: 'over-limit';
      readonly limitBytes: number;
      /** Offered in this month so far. */
      readonly offeredBytes: number;
      readonly askedBytes: number;
      readonly resetsAtMs: number;
    };

/**
 * Signs a download for each object that is stored, and meters what it offers while the store is asked. Downloads never
 * depend on the limit of what is stored.
 *
 * @param input.tenant as read when the request was authenticated.
 * @param input.tokenId whom it is metered for.
 * @param input.repoObjects how many objects the repo had when it was last counted. undefined: it never was.
 * @param input.objects oid → bytes, as the client asks for them.
 * @throws {StoreUnavailableError}
 * @throws {LedgerUnavailableError} only if the tenant has a limit: otherwise nothing waits for the meter.
 */
export async function offerDownload(
  deps: FindOfferedDeps & Pick<Deps, 'signer' | 'downloads' | 'ledger' | 'log'>,
  input: {
    tenant: TenantRecord;
    tokenId: string;
    repo: string;
    repoObjects?: number | undefined;
    objects: ReadonlyMap<string, number>;
  },
): Promise<OfferDownloadOutcome> {
  const { clock } = deps;
  const { tenant, tokenId, repo, repoObjects, objects } = input;
  const atMs = clock.nowMs();
  const asked = { bytes: sumClaims(objects), objects: objects.size };
  const place = { tenant: tenant.tenant, repo };
  const [stored, metered] = await Promise.all([
    findOffered(deps, { ...place, repoObjects, oids: [...objects.keys()] }),
    meterOffer(deps, { tenant, offer: { ...place, tokenId, atMs, ...asked } }),
  ]);
  if (metered === 'over-limit') {
    const offered = await monthlyOffer(deps, { tenant: tenant.tenant, atMs });
    const limitBytes = tenant.downloadLimitBytes ?? Number.MAX_SAFE_INTEGER;
    const askedBytes = asked.bytes;
    return {
      kind: 'over-limit',
      limitBytes,
      offeredBytes: offered.bytes,
      askedBytes,
      resetsAtMs: nextMonthMs(atMs),
    };
  }
  const offered = new Map([...objects].filter(([oid, sizeBytes]) => stored.get(oid) === sizeBytes));
  const difference = { bytes: sumClaims(offered) - asked.bytes, objects: offered.size - asked.objects };
  const missing = [...objects.keys()].filter((oid) => !stored.has(oid));
  const gone = await findGone(deps, { ...place, oids: missing });
  const [verdicts] = await Promise.all([
    Promise.all(
      [...objects].map(async ([oid, sizeBytes]) => [oid, await verdictOf(oid, sizeBytes)] as const),
    ),
    metered === 'metered' && correctMeter(deps, { ...place, tokenId, atMs, ...difference }),
  ]);
  return { kind: 'answered', verdicts: new Map(verdicts) };

  async function verdictOf(oid: string, sizeBytes: number): Promise<DownloadVerdict> {
    const storedBytes = stored.get(oid);
    if (storedBytes === undefined) {
      const atMs = gone.get(oid);
      return atMs === undefined ? { kind: 'missing' } : { kind: 'gone', atMs };
    }
    if (storedBytes !== sizeBytes) return { kind: 'size-conflict', storedBytes };
    const lifetimeMs = deps.settings.urlLifetimeMs;
    const get = await deps.signer.signDownload({
      key: objectKey({ ...place, oid }),
      signedAtMs: atMs,
      lifetimeMs,
    });
    return { kind: 'download', get, expiresInMs: atMs + lifetimeMs - clock.nowMs() };
  }
}
