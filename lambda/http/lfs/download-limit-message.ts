import { formatBytes } from '../../domain/bytes.ts';
import { dayOf } from '../../domain/calendar.ts';

/** What git-lfs prints, once, when a month's downloads are used up. */
export function downloadLimitMessage(refusal: {
  tenant: string;
  limitBytes: number;
  offeredBytes: number;
  askedBytes: number;
  resetsAtMs: number;
}): string {
  const { tenant, limitBytes, offeredBytes, askedBytes, resetsAtMs } = refusal;
  return (
    `The downloads of ${tenant} for this month are used up: ${formatBytes(offeredBytes)} of ` +
    `${formatBytes(limitBytes)} were offered, and this asks for ${formatBytes(askedBytes)}. ` +
    `They begin anew on ${dayOf(resetsAtMs)} (UTC). Until then, only a higher limit lets more through: ask whoever runs ` +
    'this service. Pushes are not affected.'
  );
}
