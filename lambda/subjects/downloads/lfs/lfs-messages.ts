import { dayOf } from '../../../core/rules/dates.ts';
import type { OverLimit } from '../../../frame/access/seams.ts';
import { downloadsOf } from '../../lfs/messages.ts';
import type { UpstreamFailure } from '../rules/copies.ts';

/**
 * 509 without a token, once the repo's public downloads of the month are used up.
 * @param input.lfsUrl as the client has it. It sends a token unasked only if it knows that this URL needs one.
 */
export function publicLimitReached(
  input: Omit<OverLimit, 'kind'> & { tenant: string; repo: string; lfsUrl: string },
): string {
  const { tenant, repo, resetsAtMs, lfsUrl } = input;
  return (
    `Public download limit reached: ${tenant}/${repo} ${downloadsOf(input)} It resets on ${dayOf(resetsAtMs)} (UTC). ` +
    `Have a token? Run: git config --global lfs.${lfsUrl}.access basic`
  );
}

/** The same if it's the tenant's own limit. An anonymous user doesn't see its numbers. */
export function anonymousLimitReached({ tenant, resetsAtMs }: { tenant: string; resetsAtMs: number }) {
  return `Monthly download limit reached for ${tenant}. It resets on ${dayOf(resetsAtMs)} (UTC).`;
}

/** 404 once the git host that has the repository was asked, too. */
export function objectNotUpstream({ host, why }: { host: string; why: UpstreamFailure }): string {
  switch (why) {
    case 'absent':
      return `Object not found, here or on ${host}. Run git lfs push --all origin in a clone that has it.`;
    case 'rejected':
      return `Object not found here, and ${host} rejected your token for LFS downloads. Use one that can read the repository's contents.`;
    case 'limited':
      return `Object not found here, and ${host} limits LFS requests. Pull again in a few minutes.`;
    case 'unavailable':
      return `Object not found here, and ${host} gave no valid LFS response. Pull again in a few minutes.`;
  }
}

/** 501 of a server without what copies. */
export const copiesNothing =
  "This server doesn't copy from other servers. The operator can enable it: gitHosts.";

/** Errors of a client, not of its user. */
export const invalidCopies = {
  request: (issue: string) => `Invalid copies request: ${issue}.`,
  expiresSoon: (seconds: number) => `Its href expires within ${seconds} seconds. Ask for a new one.`,
} as const;
