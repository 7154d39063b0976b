import { monthOf, nextMonthMs } from '../../domain/calendar.ts';
import { type PublicRead, publicBytesOf, publicTokenId } from '../../domain/public-read.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { PublicOffer } from '../../ports/downloads.ts';
import type { Deps } from '../deps.ts';
import { type OfferDownloadOutcome, offerDownload } from './offer-download.ts';

type OfferDeps = Parameters<typeof offerDownload>[0];

export type OfferPubliclyOutcome =
  | OfferDownloadOutcome
  /** The repo's ceiling would be exceeded. Nothing was offered, and the store was not asked. */
  | (Omit<Extract<OfferDownloadOutcome, { kind: 'over-limit' }>, 'kind'> & { readonly kind: 'over-ceiling' });

/**
 * Offers downloads to somebody without a token. What it asks for is taken off the repo's ceiling first, so that over it
 * nobody makes the store work; then it is as any other offer, and counts in the tenant's month.
 *
 * @param input.tenant as read when the repo was found to be public.
 * @param input.repoObjects how many objects the repo had when it was last counted. undefined: it never was.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function offerPublicly(
  deps: OfferDeps,
  input: {
    tenant: TenantRecord;
    publicRead: PublicRead;
    repoObjects: number | undefined;
    objects: ReadonlyMap<string, number>;
  },
): Promise<OfferPubliclyOutcome> {
  const { downloads, clock } = deps;
  const { tenant, publicRead, repoObjects, objects } = input;
  const { repo, monthlyLimitBytes: limitBytes } = publicRead;
  const atMs = clock.nowMs();
  const place = { tenant: tenant.tenant, repo };
  const asked = { bytes: publicBytesOf(objects), objects: objects.size };
  if ((await downloads.meterPublic({ ...place, atMs, ...asked, limitBytes })) === 'over-limit') {
    const { bytes: offeredBytes } = await downloads.publicMonth({ ...place, month: monthOf(atMs) });
    return {
      kind: 'over-ceiling',
      limitBytes: limitBytes ?? Number.MAX_SAFE_INTEGER,
      offeredBytes,
      askedBytes: asked.bytes,
      resetsAtMs: nextMonthMs(atMs),
    };
  }
  const outcome = await offerDownload(deps, { tenant, tokenId: publicTokenId, repo, repoObjects, objects });
  const counted = outcome.kind === 'answered' ? countedOf(outcome, objects) : { bytes: 0, objects: 0 };
  await giveBack(deps, {
    ...place,
    atMs,
    bytes: counted.bytes - asked.bytes,
    objects: counted.objects - asked.objects,
  });
  return outcome;
}

/** What an offer counts to the ceiling: of what it does not have, that it was looked for. */
function countedOf(
  { verdicts }: Extract<OfferDownloadOutcome, { kind: 'answered' }>,
  objects: ReadonlyMap<string, number>,
): { bytes: number; objects: number } {
  const isOffered = (oid: string) => verdicts.get(oid)?.kind === 'download';
  const sizes = [...objects].map(([oid, sizeBytes]) => [oid, isOffered(oid) ? sizeBytes : 0] as const);
  return {
    bytes: publicBytesOf(new Map(sizes)),
    objects: sizes.filter(([oid]) => isOffered(oid)).length,
  };
}

/** If it fails, less of the ceiling is left than could be, which keeps nobody from what they were offered. */
async function giveBack(
  { downloads, log }: Pick<Deps, 'downloads' | 'log'>,
  difference: PublicOffer,
): Promise<void> {
  // All of it was offered.
  if (difference.objects === 0) return;
  try {
    await downloads.correctPublic(difference);
  } catch (error) {
    log.warn('downloads not corrected', { tenant: difference.tenant, repo: difference.repo, error });
  }
}
