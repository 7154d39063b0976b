import type { CoreDeps } from '../../../core/ledger/core-deps.ts';
import type { TenantRecord } from '../../../core/ledger/rules/tenant.ts';
import { monthOf, nextMonthMs } from '../../../core/rules/dates.ts';
import type { FrontPorts, OverLimit } from '../../../frame/access/seams.ts';
import type { PublicRead } from '../../hosts/rules/public-read.ts';
import {
  type DownloadQuestion,
  type FindDeps,
  type FoundDownloads,
  findDownloads,
  offerFound,
} from '../../lfs/downloads.ts';
import type { OfferDownloadOutcome } from '../../lfs/seams.ts';
import type { PublicOffer } from '../download-store.ts';
import { writeIdCharacters } from '../downloads.ts';
import type { DownloadPorts } from '../ports.ts';
import { publicBytesOf, publicObjectBytesMin, publicTokenId } from '../rules/public-reads.ts';

export type OfferPubliclyOutcome =
  | OfferDownloadOutcome
  /** The repo's ceiling would be exceeded. Nothing was offered. */
  | (Omit<OverLimit, 'kind'> & { readonly kind: 'over-ceiling' });

export type OfferPubliclyDeps = FindDeps &
  Pick<CoreDeps, 'ids'> &
  Pick<FrontPorts, 'meters'> &
  Pick<DownloadPorts, 'downloads'>;

/**
 * Offers downloads to somebody without a token. Over the repo's ceiling the store is not asked. What is found counts to the
 * ceiling, and then it is as any other offer, and counts in the tenant's month.
 *
 * @param input.tenant as read when the repo was found to be public.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function offerPublicly(
  deps: OfferPubliclyDeps,
  input: Omit<DownloadQuestion, 'repo'> & { publicRead: PublicRead },
): Promise<OfferPubliclyOutcome> {
  const { downloads, clock } = deps;
  const { tenant, publicRead, objects } = input;
  const { repo, monthlyLimitBytes: limitBytes } = publicRead;
  const question = { tenant, repo, repoObjects: input.repoObjects, objects };
  const askedBytes = publicBytesOf(objects);
  if (limitBytes !== null) {
    const nowMs = clock.nowMs();
    const offeredBytes = await offeredIn(deps, { tenant, repo, nowMs });
    if (offeredBytes + askedBytes > limitBytes)
      return { kind: 'over-ceiling', limitBytes, offeredBytes, askedBytes, resetsAtMs: nextMonthMs(nowMs) };
  }
  const found = await findDownloads(deps, question);
  const offer = publicOfferOf(deps, { tenant, repo, objects, found });
  if ((await downloads.meterPublic({ ...offer, limitBytes })) === 'over-limit')
    return {
      kind: 'over-ceiling',
      limitBytes: limitBytes ?? Number.MAX_SAFE_INTEGER,
      offeredBytes: await offeredIn(deps, { tenant, repo, nowMs: found.atMs }),
      askedBytes: offer.bytes,
      resetsAtMs: nextMonthMs(found.atMs),
    };
  let isOffered = false;
  let keptBytes = 0;
  try {
    const outcome = await offerFound(deps, { ...question, tokenId: publicTokenId, found });
    isOffered = outcome.kind === 'answered';
    // The store was asked. Once the month is used up, nothing else would end that.
    keptBytes = publicObjectBytesMin * objects.size;
    return outcome;
  } finally {
    if (!isOffered) await giveBack(deps, { ...offer, bytes: offer.bytes - keptBytes });
  }
}

/** What anybody was offered in the month so far. */
async function offeredIn(
  { downloads }: Pick<DownloadPorts, 'downloads'>,
  { tenant, repo, nowMs }: { tenant: TenantRecord; repo: string; nowMs: number },
): Promise<number> {
  return (await downloads.publicMonth({ tenant: tenant.tenant, repo, month: monthOf(nowMs) })).bytes;
}

/** What an offer counts to the ceiling: of what it does not have, that it was looked for. */
function publicOfferOf(
  { ids }: Pick<CoreDeps, 'ids'>,
  input: DownloadQuestion & { found: FoundDownloads },
): PublicOffer {
  const { tenant, repo, objects, found } = input;
  const sizes = [...objects].map(([oid, sizeBytes]) => [oid, found.signed.has(oid) ? sizeBytes : 0] as const);
  return {
    tenant: tenant.tenant,
    repo,
    atMs: found.atMs,
    bytes: publicBytesOf(new Map(sizes)),
    objects: found.signed.size,
    writeId: ids.random(writeIdCharacters),
  };
}

/** If it fails, less of the ceiling is left than could be, which keeps nobody from what they were offered. */
async function giveBack(
  { downloads, ids, log }: Pick<CoreDeps, 'ids' | 'log'> & Pick<DownloadPorts, 'downloads'>,
  offer: PublicOffer,
): Promise<void> {
  const { tenant, repo, bytes, objects } = offer;
  const writeId = ids.random(writeIdCharacters);
  try {
    await downloads.correctPublic({ ...offer, bytes: -bytes, objects: -objects, writeId });
  } catch (error) {
    log.warn('downloads not corrected', { tenant, repo, error });
  }
}
