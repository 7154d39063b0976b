import { recordStoreEvents } from '../lambda/core/ledger/reconcile-requests.ts';
import { placeOf } from '../lambda/core/ledger/rules/reservation.ts';
import { repoPrefix } from '../lambda/core/rules/names.ts';
import type { Deps } from './deps.ts';
import { tenantNames } from './tenant-names.ts';

/**
 * Has usage follow what the store loses, as it follows deletes around this server. Files that are set aside don't tell whose
 * they were: a start with such files counts all tenants.
 */
export async function countLosses(deps: Deps): Promise<void> {
  const { damage } = deps.storeProbe;
  if (!damage) return;
  damage.onLoss = (storedKey) => {
    const place = placeOf(deps.adoptedRepos.keyOf(storedKey) ?? '');
    if (!place) return;
    deps.knownObjects.forget(repoPrefix(place));
    const change = { ...place, kind: 'removed', atMs: deps.clock.nowMs() } as const;
    recordStoreEvents(deps, { tenant: place.tenant, changes: [change] }).catch((error) =>
      deps.log.warn('lost object not counted', { key: storedKey, error }),
    );
  };
  if ((await damage.read()).damaged === 0) return;
  for await (const tenant of tenantNames(deps))
    await deps.queue.request({ tenant, reason: 'import', full: true });
}
