import type { TenantBody } from '../../lambda/http/management/tenants/schemas.ts';

/** How full, of 1; below 0 what has no such figure. */
function fillOf({ usage, limitBytes }: TenantBody): number {
  if (usage === null) return -2;
  if (limitBytes === null) return -1;
  const used = usage.storedBytes + usage.reservedBytes;
  return limitBytes === 0 ? (used > 0 ? Number.POSITIVE_INFINITY : 0) : used / limitBytes;
}

/** The fullest first; then those without a limit, and those that were never counted. */
export const sortTenants = (tenants: readonly TenantBody[]) =>
  [...tenants].sort((a, b) => {
    const [left, right] = [fillOf(a), fillOf(b)];
    return left === right ? (a.tenant < b.tenant ? -1 : 1) : right - left;
  });
