import type { Deps } from '../lambda/deps.ts';
import { recordStoreEvents } from '../lambda/ledger/reconcile-requests.ts';
import { placeOf } from '../lambda/ledger/rules/reservation.ts';
import { repoPrefix } from '../lambda/rules/names.ts';

/** Has usage follow what the store loses, as it follows deletes around this server. */
export function countLosses(deps: Deps): void {
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
}
