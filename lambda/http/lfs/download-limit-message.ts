import { dayOf, formatBytes } from '../../rules/text.ts';

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

/** The same for somebody without a token, when the repo's ceiling is reached. */
export function publicLimitMessage(refusal: {
  tenant: string;
  repo: string;
  /** As the client has it. It sends a token unasked only if it knows that this URL needs one. */
  lfsUrl: string;
  limitBytes: number;
  offeredBytes: number;
  askedBytes: number;
  resetsAtMs: number;
}): string {
  const { tenant, repo, lfsUrl, limitBytes, offeredBytes, askedBytes, resetsAtMs } = refusal;
  return (
    `The public downloads of ${tenant}/${repo} for this month are used up: ${formatBytes(offeredBytes)} of ` +
    `${formatBytes(limitBytes)} were offered, and this asks for ${formatBytes(askedBytes)}. ` +
    `They begin anew on ${dayOf(resetsAtMs)} (UTC). Until then it takes an access token of ${tenant}. If you have one, ` +
    `make git-lfs send it: git config --global lfs.${lfsUrl}.access basic`
  );
}

/** The same when it is the tenant's own limit. Its numbers are not for strangers. */
export function strangerLimitMessage({ tenant, resetsAtMs }: { tenant: string; resetsAtMs: number }): string {
  return (
    `The downloads of ${tenant} for this month are used up. They begin anew on ${dayOf(resetsAtMs)} (UTC). ` +
    'Until then, only whoever runs this service can let more through.'
  );
}
