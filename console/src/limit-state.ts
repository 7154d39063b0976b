import type { SubscriptionBody } from '../../lambda/http/management/tenants/schemas.ts';

/** Under so much of the limit that is free, something is to be done. */
const nearShare = 0.1;

/** Whether something is to be done about the limit. */
export function stateOf({
  usage,
  limitBytes,
}: Pick<SubscriptionBody, 'usage' | 'limitBytes'>): 'fine' | 'near' | 'over' {
  if (usage === null || limitBytes === null) return 'fine';
  const freeBytes = limitBytes - usage.storedBytes - usage.reservedBytes;
  if (freeBytes < 0 || (freeBytes === 0 && usage.storedBytes > 0)) return 'over';
  return freeBytes < limitBytes * nearShare ? 'near' : 'fine';
}
