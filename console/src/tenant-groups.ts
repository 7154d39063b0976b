import type { TenantBody } from '../../lambda/http/management/tenants/schemas.ts';
import { stateOf } from './limit-state.ts';

/** A count that is older was due: each tenant is counted once a day. With some time for the schedule to come around. */
const oldMs = 25 * 3_600_000;

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
      return usage !== null && !deleting && nowMs - Date.parse(usage.countedAt) > oldMs;
    default:
      return !deleting && stateOf(body) === group;
  }
}
