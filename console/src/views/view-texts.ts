import { formatUntil } from '../../../cli/render.ts';
import { dayMs } from '../../../lambda/core/rules/dates.ts';

const soonMs = 14 * dayMs;

/** When a token expires, in words; and whether that asks for something. */
export function expiryText(expiresAt: string | null, nowMs: number): { text: string; isNear: boolean } {
  if (expiresAt === null) return { text: 'never expires', isNear: true };
  const leftMs = Date.parse(expiresAt) - nowMs;
  if (leftMs <= 0) return { text: 'expired', isNear: true };
  return { text: formatUntil(expiresAt, nowMs), isNear: leftMs <= soonMs };
}
