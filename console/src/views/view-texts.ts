import { formatAge, formatUntil } from '../../../cli/render.ts';
import { dayMs } from '../../../lambda/core/rules/dates.ts';
import type { WebhookBody } from '../../../lambda/subjects/alerts/webhook-contract.ts';
import type { ExchangeRuleBody } from '../../../lambda/subjects/ci/contract.ts';
import type { ExportBody } from '../../../lambda/subjects/exports/contract.ts';
import type { GcBody } from '../../../lambda/subjects/gc/contract.ts';
import { bytesText, percentText } from '../text.ts';

/** What the views say of tokens, CI rules, exports, garbage collection and webhooks. */

const soonMs = 14 * dayMs;

/** When a token expires, in words; and whether that asks for something. */
export function expiryText(expiresAt: string | null, nowMs: number): { text: string; isNear: boolean } {
  if (expiresAt === null) return { text: 'never expires', isNear: true };
  const leftMs = Date.parse(expiresAt) - nowMs;
  if (leftMs <= 0) return { text: 'expired', isNear: true };
  return { text: formatUntil(expiresAt, nowMs), isNear: leftMs <= soonMs };
}

/** Whether identity tokens are those of GitHub Actions. */
export const isGithub = (issuer: string) => new URL(issuer).host === 'token.actions.githubusercontent.com';

/** Who issues identity tokens. */
export const hostOf = (issuer: string) => (isGithub(issuer) ? 'GitHub Actions' : new URL(issuer).host);

/** Which jobs a rule is for, in words. */
export function jobsText({ issuer, match }: Pick<ExchangeRuleBody, 'issuer' | 'match'>): string {
  const claims = Object.entries(match).map(([claim, values]) => `${claim} ${values.join(' or ')}`);
  return `${hostOf(issuer)}: ${claims.join(', ')}`;
}

/** Whether an export is in progress. */
export const isOpen = ({ state }: Pick<ExportBody, 'state'>) => state === 'planning' || state === 'copying';

/** How far it is, or what came of it. */
export function exportText({ state, progress, archives, failure }: ExportBody): string {
  if (isOpen({ state })) return percentText(progress.share ?? 0, 1);
  if (state === 'done') return bytesText(archives.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  return failure?.message ?? state;
}

const outcomes = {
  delivered: 'delivered',
  failed: 'failed, is retried',
  'given-up': 'not delivered',
} as const;

/** What the last delivery came to. */
export function deliveryText(last: NonNullable<WebhookBody['last']>, nowMs: number): string {
  const why = last.outcome === 'delivered' ? '' : ` (${last.failure ?? last.status})`;
  return `Last: ${last.type}, ${formatAge(last.at, nowMs)}, ${outcomes[last.outcome]}${why}`;
}

/** Which of the three steps a garbage collection is at. 0: none is open. */
export function gcStep({ state, mayRun, found }: Pick<GcBody, 'state' | 'mayRun' | 'found'>): 0 | 1 | 2 | 3 {
  if (state !== 'watching') return state === 'selecting' ? 2 : state === 'deleting' ? 3 : 0;
  if (!mayRun) return 1;
  return found === null ? 2 : 3;
}
