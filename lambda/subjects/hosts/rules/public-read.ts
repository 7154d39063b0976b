import type { TenantRecord } from '../../../core/ledger/rules/tenant.ts';
import type { Settings } from '../../../core/rules/settings.ts';
import { formatBytes } from '../../../core/rules/sizes.ts';
import type { RepoMark } from '../../../frame/access/rules/repo-mark.ts';

/** That anybody may download from a repo, without a token, and how much of it. */
export interface PublicRead extends RepoMark {
  /** The ceiling: bytes that may be offered to anybody in a month (UTC), all together. null: unlimited. */
  readonly monthlyLimitBytes: number | null;
}

/** Why somebody who manages a tenant can't set this ceiling. A tenant without a download limit is no way around it. */
export function wrongCeiling(
  { publicMonthBytesMax }: Settings,
  { tenant, publicRead }: { tenant: TenantRecord; publicRead: Pick<PublicRead, 'monthlyLimitBytes'> },
): string | undefined {
  if (publicRead.monthlyLimitBytes === null)
    return 'Unlimited public downloads require the admin token. Set monthlyLimitBytes to a number.';
  const downloadLimitBytes = tenant.downloadLimitBytes ?? Number.POSITIVE_INFINITY;
  const most = Math.min(downloadLimitBytes, publicMonthBytesMax);
  if (publicRead.monthlyLimitBytes <= most) return undefined;
  const whose = most === downloadLimitBytes ? `the download limit of ${tenant.tenant}` : 'the maximum here';
  return `More than ${whose} (${formatBytes(most)} a month) requires the admin token.`;
}
