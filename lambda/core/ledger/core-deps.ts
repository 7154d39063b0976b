import type { Clock, Ids, Log } from '../rules/clock-and-log.ts';
import type { Metrics } from '../rules/metrics.ts';
import type { Settings } from '../rules/settings.ts';
import type { KnownObjects, ListingPace } from '../scan/rules/known-objects.ts';
import type { PathScan } from '../scan/rules/scan-plan.ts';
import type { StorageClass } from '../store/rules/storage-class.ts';
import type { ObjectListing, ObjectStore, UrlSigner } from '../store/rules/store.ts';
import type { Ledger } from './ledger.ts';
import type { ReconcileQueue } from './rules/reconcile-policy.ts';
import type { UploadWay } from './rules/upload-way.ts';
import type { Belongings, Chore, Claims, Hold, Listener } from './seams.ts';

/** Everything that the ledger can depend on. Each use case takes a `Pick` of it, so its type says what it can touch. */
export interface CoreDeps {
  readonly ledger: Ledger;
  readonly store: ObjectStore;
  readonly listing: ObjectListing;
  readonly scan: PathScan;
  readonly listingPace: ListingPace;
  readonly knownObjects: KnownObjects;
  readonly signer: UrlSigner;
  /** Those that the store has. Nothing is written with another one. */
  readonly storageClasses: readonly StorageClass[];
  readonly queue: ReconcileQueue;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly settings: Settings;
  // The subjects that a function has: seams.ts.
  readonly listeners: readonly Listener[];
  readonly belongings: readonly Belongings[];
  readonly holds: readonly Hold[];
  readonly chores: readonly Chore[];
  readonly way: UploadWay;
  readonly claims: Claims;
}
