import type { TenantBody } from '../../lambda/http/management/tenants/schemas.ts';
import { stateOf } from './limit-state.ts';

/** Nothing is left uncounted for longer, also where nothing happens: some 30 days, and some time to come around. */
const idleMs = 35 * 86_400_000;
/** After the last upload that was promised has ended, it is counted what came of it: within a quarter of an hour or so. */
const endedMs = 3_600_000;

export const tenantGroups = ['all', 'over', 'near', 'uncounted', 'old', 'deleting'] as const;
export type TenantGroup = (typeof tenantGroups)[number];

export const groupText: Readonly<Record<TenantGroup, string>> = {
  all: 'All',
  over: 'Full',
  near: 'Nearly full',
  uncounted: 'Never counted',
  old: 'Count overdue',
  deleting: 'Being deleted',
};

/** Whether a tenant is one of those that somebody may have to look at. */
export function isInGroup(body: TenantBody, group: TenantGroup, nowMs: number): boolean {
  const { usage, deleting = false } = body;
  switch (group) {
    case 'all':
      return true;
    case 'deleting':
      return deleting;
    case 'uncounted':
      return usage === null && !deleting;
    case 'old':
      return usage !== null && !deleting && isOverdue(usage, nowMs);
    default:
      return !deleting && stateOf(body) === group;
  }
}

/** Whether it should have been counted again by now: then schedule, queue or store do not do their work. */
function isOverdue(usage: NonNullable<TenantBody['usage']>, nowMs: number): boolean {
  const { countedAt, reservedBytes, reservedUntil } = usage;
  const endedAtMs = reservedBytes > 0 && reservedUntil !== null ? Date.parse(reservedUntil) : Number.NaN;
  return nowMs - Date.parse(countedAt) > idleMs || nowMs - endedAtMs > endedMs;
}
