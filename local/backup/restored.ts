import { tenantDueKey } from '../../lambda/core/ledger/items.ts';
import { lapsedAtMs } from '../../lambda/core/ledger/rules/reservation.ts';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { stored } from '../../lambda/core/table/stored-names.ts';
import { byDueIndex } from '../../lambda/core/table/table.ts';
import type { Item } from '../table/expression.ts';

/**
 * More than the reconciles of a tenant that anybody made after a backup: none of them may write once more what the
 * restored tenant holds for its own.
 */
const epochsBetween = 1_000_000;

/** When the last PUT can end whose URL was signed at a moment, for the largest object and with the default settings. */
export function lastPutMs(signedAtMs: number): number {
  const { urlLifetimeMs, reservationSlackMs, objectBytesMax } = defaultSettings;
  return lapsedAtMs(defaultSettings, {
    expiresAtMs: signedAtMs + urlLifetimeMs + reservationSlackMs,
    entries: new Map([['', objectBytesMax]]),
  });
}

export const isTenantItem = ({ pk, sk }: Item) => String(pk).startsWith('TENANT#') && sk === 'TENANT';

/**
 * An item of a table that is older than its bucket, as it is right to begin with.
 *
 * Nothing else is known of what was done since: uploads that no reservation has may be stored, or still land, and what was
 * to be deleted may be needed again. So each tenant takes no uploads until it was counted after the last of them, and
 * nothing is deleted that was asked for before, but for tenants that are being deleted.
 *
 * @param input.uploadsFromMs no PUT can end later whose URL is from before.
 * @returns undefined: it is left out.
 */
export function restoredItem(
  item: Item,
  { nowMs, uploadsFromMs }: { nowMs: number; uploadsFromMs: number },
): Item | undefined {
  const [pk, sk] = [String(item['pk']), String(item['sk'])];
  // Each tenant is counted anyway, and messages would be sent twice.
  if (pk.startsWith('QUEUE#')) return undefined;
  if (!pk.startsWith('TENANT#')) return item;
  if (sk === 'TENANT') return restoredTenant(item, { nowMs, uploadsFromMs });
  if (sk.startsWith('DELETION#') || sk.startsWith('CLEANUP#')) return undefined;
  return sk.startsWith('REPO#') ? without(item, repoLeaves) : item;
}

/** Of a repo: its closing, the watch of a gc run, and that its scans are paused, which uploads wait for. */
const repoLeaves = ['closedAtMs', byDueIndex.pk, byDueIndex.sk, 'watch', 'countPausedAtMs'];
/** Of a tenant: what it has used up of its LIST requests. */
const tenantLeaves = ['shardsListedUntilMs', 'shardLists', 'leaseHolder'];

function restoredTenant(
  item: Item,
  { nowMs, uploadsFromMs }: { nowMs: number; uploadsFromMs: number },
): Item {
  // The schedule drops what is due before it may be counted again, and comes back to it minutes later.
  const restedAtMs = Number(item['countedAtMs'] ?? 0) + defaultSettings.reconcileRestMs;
  const changed = stored({
    epoch: Number(item['epoch']) + epochsBetween,
    leaseUntilMs: 0,
    // What it proved to be taken up may be deleted.
    confirmedUntilMs: 0,
    listedUntilMs: 0,
    deletionCount: 0,
    uploadsFromMs,
    ...tenantDueKey({ tenant: String(item['tenant']), dueAtMs: Math.max(nowMs, restedAtMs), lookAtMs: null }),
  });
  return { ...without(item, tenantLeaves), ...changed };
}

function without(item: Item, names: readonly string[]): Item {
  return Object.fromEntries(Object.entries(item).filter(([name]) => !names.includes(name)));
}
