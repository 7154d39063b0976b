import fc from 'fast-check';
import type { Mishap, PortCall } from './mishaps.ts';

/** When a client sends an object for which it got a URL. `twice`: at once, and as late as it can. */
export type UploadPlan = 'at-once' | 'twice' | 'soon' | 'last-moment' | 'after-expiry' | 'trickled' | 'never';

interface ActionOf<K extends string> {
  readonly kind: K;
  /** Index of a tenant. Beyond the last one it begins again with the first. */
  readonly tenant: number;
  /** After the action before it. */
  readonly afterMs: number;
}

export interface PushAction extends ActionOf<'push'> {
  readonly repo: number;
  /** Indexes of oids. A lie declares a false size. */
  readonly objects: readonly { readonly oid: number; readonly lie: boolean }[];
  readonly plan: UploadPlan;
  readonly verify: boolean;
  /** Index of the token. Default: by the first object, if batches say who made them. */
  readonly maker?: number;
  /** A refusal of it is a violation, whatever takes up the room. */
  readonly mustPass?: boolean;
}

export interface DeleteObjectAction extends ActionOf<'delete-object'> {
  readonly repo: number;
  readonly oid: number;
  /** Others push it again just when its grace time ends. */
  readonly contested: boolean;
}

/** Somebody writes straight to the bucket. */
export interface AroundAction extends ActionOf<'around'> {
  /** A folder that the ledger does not know, or none, has other names than oids. */
  readonly where: 0 | 1 | 'unknown-folder' | 'no-folder';
  readonly oid: number;
  readonly change: 'put' | 'remove';
}

/** The store, the table and the queue, or the service's own files in the store answer nothing for a while. */
export interface OutageAction extends ActionOf<'outage'> {
  readonly of: 'store' | 'table' | 'files';
  readonly forMs: number;
}

/** Somebody cleans up a repo. */
export interface GcAction extends ActionOf<'gc'> {
  readonly repo: number;
  /** Indexes of the oids that some ref needs. */
  readonly keep: readonly number[];
  readonly isCancelled: boolean;
}

/** Somebody exports a repo, or all of them. Nobody works on it. */
export interface ExportAction extends ActionOf<'export'> {
  readonly repo: number | null;
  readonly cancelAfterMs: number | null;
}

export interface DownloadAction extends ActionOf<'download'> {
  readonly repo: number;
  readonly objects: PushAction['objects'];
}

/** Many batches of one object have been admitted, and none of them has sent it yet. */
export interface CrowdAction extends ActionOf<'crowd'> {
  readonly repo: number;
  readonly oid: number;
  readonly batches: number;
}

/** Something goes wrong at the next call of a port. */
interface MishapAction extends ActionOf<'mishap'> {
  readonly at: PortCall;
  readonly what: Mishap;
}

/** Somebody creates a repo of files again that was deleted. */
type CreateRepoAction = ActionOf<'create-repo'> & { readonly repo: number };

/** A file must be there by now. */
type ExpectStoredAction = ActionOf<'expect-stored'> & { readonly repo: number; readonly oid: number };

export type Action =
  | PushAction
  | DeleteObjectAction
  | (ActionOf<'limit'> & { readonly limitBytes: number | null })
  | (ActionOf<'read'> & { readonly refresh: boolean })
  | (ActionOf<'delete-repo'> & { readonly repo: number })
  | ActionOf<'delete-tenant'>
  | AroundAction
  | OutageAction
  | GcAction
  | ExportAction
  | DownloadAction
  | CrowdAction
  | MishapAction
  | CreateRepoAction
  | ExpectStoredAction
  | (ActionOf<'reconcile'> & {
      readonly full: boolean;
      /** A function handles it right now, whatever the queue is like. */
      readonly isAtOnce?: boolean;
    });

export interface Scenario {
  readonly tenants: readonly {
    readonly limitBytes: number | null;
    /** Indexes of oids that were in the bucket before the tenant was created. */
    readonly imported: readonly number[];
  }[];
  /** True sizes of the oids, in bytes. */
  readonly sizes: readonly number[];
  readonly actions: readonly Action[];
  /** If the table is to have other limits than usual. */
  readonly table?: { readonly pageSize: number; readonly itemBytesMax?: number };
  /** Seed of everything else that is random: latencies, faults, deaths. */
  readonly seed: number;
}

const oidCount = 10;
const tenantsMax = 3;
const minute = 60_000;

/** Time between actions: usually short, so that they interleave, and sometimes long enough for URLs to expire. */
const gap = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 3_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 3_000, max: 2 * minute }) },
  { weight: 1, arbitrary: fc.integer({ min: 20 * minute, max: 50 * minute }) },
);
const limit = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 40, max: 200 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 40 }) },
  { weight: 1, arbitrary: fc.constant(null) },
);
/** What each action has. */
const actionOf = <K extends Action['kind']>(kind: K) => ({
  kind: fc.constant(kind),
  tenant: fc.integer({ min: 0, max: tenantsMax - 1 }),
  afterMs: gap,
});
const repo = fc.integer({ min: 0, max: 1 });
const oid = fc.integer({ min: 0, max: oidCount - 1 });
const isLie = fc.oneof(
  { weight: 9, arbitrary: fc.constant(false) },
  { weight: 1, arbitrary: fc.constant(true) },
);

const objects = fc.uniqueArray(fc.record({ oid, lie: isLie }), {
  minLength: 1,
  maxLength: 4,
  selector: (object) => object.oid,
});

const push: fc.Arbitrary<PushAction> = fc.record({
  ...actionOf('push'),
  repo,
  objects,
  plan: fc.constantFrom<UploadPlan>(
    'at-once',
    'at-once',
    'soon',
    'soon',
    'last-moment',
    'after-expiry',
    'never',
  ),
  verify: fc.boolean(),
});

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 40, arbitrary: push },
  { weight: 4, arbitrary: fc.record({ ...actionOf('limit'), limitBytes: limit }) },
  { weight: 8, arbitrary: fc.record({ ...actionOf('read'), refresh: fc.boolean() }) },
  {
    weight: 12,
    arbitrary: fc.record({ ...actionOf('delete-object'), repo, oid, contested: fc.boolean() }),
  },
  { weight: 4, arbitrary: fc.record({ ...actionOf('delete-repo'), repo }) },
  { weight: 8, arbitrary: fc.record({ ...actionOf('reconcile'), full: fc.boolean() }) },
  {
    weight: 5,
    arbitrary: fc.record({
      ...actionOf('around'),
      where: fc.constantFrom<AroundAction['where']>(0, 1, 'unknown-folder', 'no-folder'),
      oid,
      change: fc.constantFrom<AroundAction['change']>('put', 'remove'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      ...actionOf('outage'),
      of: fc.constantFrom<OutageAction['of']>('store', 'table', 'files'),
      forMs: fc.oneof(fc.integer({ min: minute, max: 20 * minute }), fc.constant(4 * 60 * minute)),
    }),
  },
  { weight: 6, arbitrary: fc.record({ ...actionOf('download'), repo, objects }) },
  {
    weight: 3,
    arbitrary: fc.record({
      ...actionOf('gc'),
      repo,
      keep: fc.uniqueArray(oid, { maxLength: 6 }),
      isCancelled: fc.oneof(
        { weight: 3, arbitrary: fc.constant(false) },
        { weight: 1, arbitrary: fc.constant(true) },
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...actionOf('export'),
      repo: fc.constantFrom(0, 1, null),
      cancelAfterMs: fc.oneof(fc.integer({ min: 0, max: 30 * minute }), fc.constant(null)),
    }),
  },
  // Rare, because little happens after it.
  { weight: 1, arbitrary: fc.record(actionOf('delete-tenant')) },
);

const tenant = fc.record({
  limitBytes: limit,
  imported: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.uniqueArray(oid, { maxLength: 4 }) },
  ),
});

/** What people do. fast-check shrinks a scenario that fails to the few actions that matter. */
export const scenario: fc.Arbitrary<Scenario> = fc.record({
  // Mostly one, because actions of several tenants meet less often.
  tenants: fc.oneof(
    { weight: 3, arbitrary: fc.array(tenant, { minLength: 1, maxLength: 1 }) },
    { weight: 2, arbitrary: fc.array(tenant, { minLength: 2, maxLength: tenantsMax }) },
  ),
  sizes: fc.array(fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constant(0)), {
    minLength: oidCount,
    maxLength: oidCount,
  }),
  actions: fc.array(action, { minLength: 1, maxLength: 16 }),
  seed: fc.integer({ min: 0, max: 0x7fff_ffff }),
});
