import { monthOf } from '../../domain/calendar.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { DownloadOffer, DownloadSum } from '../../ports/downloads.ts';
import type { Deps } from '../deps.ts';

type MeterDeps = Pick<Deps, 'downloads' | 'log'>;

/**
 * Meters what a batch is about to offer. Without a limit a table that does not answer keeps nobody from downloading: then
 * the offer is not metered.
 *
 * @throws {LedgerUnavailableError} if the tenant has a limit.
 */
export async function meterOffer(
  { downloads, log }: MeterDeps,
  { tenant, offer }: { tenant: Pick<TenantRecord, 'downloadLimitBytes'>; offer: DownloadOffer },
): Promise<'metered' | 'over-limit' | 'unknown'> {
  const limitBytes = tenant.downloadLimitBytes;
  try {
    return await downloads.meter({ ...offer, limitBytes });
  } catch (error) {
    if (limitBytes !== null) throw error;
    log.warn('downloads not metered', { tenant: offer.tenant, repo: offer.repo, error });
    return 'unknown';
  }
}

/**
 * Takes off what a batch had metered and did not offer, because it is not stored. If that fails, the month says too much,
 * which keeps nobody from what they were offered.
 */
export async function correctMeter({ downloads, log }: MeterDeps, difference: DownloadOffer): Promise<void> {
  // All of it was offered.
  if (difference.objects === 0) return;
  try {
    await downloads.correct(difference);
  } catch (error) {
    log.warn('downloads not corrected', { tenant: difference.tenant, repo: difference.repo, error });
  }
}

/** What a tenant was offered in the month of a time. @throws {LedgerUnavailableError} */
export function monthlyOffer(
  { downloads }: Pick<Deps, 'downloads'>,
  { tenant, atMs }: { tenant: string; atMs: number },
): Promise<DownloadSum> {
  return downloads.month({ tenant, month: monthOf(atMs) });
}
