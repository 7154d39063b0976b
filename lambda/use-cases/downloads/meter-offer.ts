import type { DownloadOffer, DownloadSum } from '../../adapters/dynamodb/downloads.ts';
import type { Deps } from '../../deps.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import { monthOf } from '../../rules/text.ts';

/** Random characters of an offer's `writeId`. */
export const writeIdCharacters = 8;

/**
 * Meters what a batch offers: right before the answer, so that whatever failed until then was not metered.
 *
 * Without a limit a table that does not answer keeps nobody from downloading: then the offer is not metered. The month is
 * what the limit is compared with, and what is billed; a day that is not written down only misses in the list of days.
 *
 * @throws {LedgerUnavailableError} if the tenant has a limit. The month may have been metered if no attempt was answered.
 */
export async function meterOffer(
  { downloads, ids, log }: Pick<Deps, 'downloads' | 'ids' | 'log'>,
  {
    tenant,
    ...sum
  }: Omit<DownloadOffer, 'tenant' | 'writeId'> & {
    tenant: Pick<TenantRecord, 'tenant' | 'downloadLimitBytes'>;
  },
): Promise<'metered' | 'over-limit'> {
  if (sum.objects === 0) return 'metered';
  const limitBytes = tenant.downloadLimitBytes;
  const offer = { ...sum, tenant: tenant.tenant, writeId: ids.random(writeIdCharacters) };
  const orLog = (writing: Promise<unknown>) =>
    writing.catch((error: unknown) => {
      log.warn('downloads not metered', { tenant: offer.tenant, repo: offer.repo, error });
    });
  if (limitBytes === null) {
    await Promise.all([orLog(downloads.meter({ ...offer, limitBytes })), orLog(downloads.addToDay(offer))]);
    return 'metered';
  }
  const outcome = await downloads.meter({ ...offer, limitBytes });
  if (outcome === 'metered') await orLog(downloads.addToDay(offer));
  return outcome;
}

/** What a tenant was offered in the month of a time. @throws {LedgerUnavailableError} */
export function monthlyOffer(
  { downloads }: Pick<Deps, 'downloads'>,
  { tenant, atMs }: { tenant: string; atMs: number },
): Promise<DownloadSum> {
  return downloads.month({ tenant, month: monthOf(atMs) });
}
