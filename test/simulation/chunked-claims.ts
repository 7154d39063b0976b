import { parseReservation, tenantOfPartition } from '../../lambda/core/ledger/items.ts';
import type { Item } from '../../local/table/expression.ts';
import type { World } from './world.ts';

/**
 * Notes what a reservation had of uploads of several requests, and has no more: its claims have ended.
 *
 * @param change.is undefined: it is gone.
 * @returns the keys of these objects.
 */
export function noteEnded(
  world: World,
  { pk, was, is }: { pk: string; was: Item; is: Item | undefined },
): readonly string[] {
  const before = parseReservation(was).chunked ?? new Set();
  const now = is && parseReservation(is);
  const ended = [...before].filter((oid) => !now?.chunked?.has(oid));
  if (ended.length === 0) return [];
  const tenant = tenantOfPartition(pk);
  const { truth } = world.account(tenant);
  const { nowMs } = world.scheduler;
  const lapsedAtMs = (now?.chunked?.size ?? 0) === 0 ? Number((is ?? was)['lapsedAtMs']) : undefined;
  for (const oid of ended) {
    const isGone = !now?.entries.has(oid);
    truth.promises.endChunked(String(was['reservationId']), { oid, isGone, lapsedAtMs, nowMs });
  }
  truth.version += 1;
  return ended.map((oid) => `${tenant}/${String(was['repo'])}/${oid}`);
}
