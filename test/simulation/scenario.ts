import fc from 'fast-check';

/** When a client sends an object for which it got a URL. `twice`: at once, and as late as it can. */
export type UploadPlan = 'at-once' | 'twice' | 'soon' | 'last-moment' | 'after-expiry' | 'trickled' | 'never';

export interface PushAction {
  readonly kind: 'push';
  readonly afterMs: number;
  readonly repo: number;
  /** Indexes of oids. A lie declares a false size. */
  readonly objects: readonly { readonly oid: number; readonly lie: boolean }[];
  readonly plan: UploadPlan;
  readonly verify: boolean;
}

export interface DeleteObjectAction {
  readonly kind: 'delete-object';
  readonly afterMs: number;
  readonly repo: number;
  readonly oid: number;
  /** Others push it again just when its grace time ends. */
  readonly contested: boolean;
}

export type Action =
  | PushAction
  | { readonly kind: 'limit'; readonly afterMs: number; readonly limitBytes: number | null }
  | { readonly kind: 'read'; readonly afterMs: number; readonly refresh: boolean }
  | DeleteObjectAction
  | { readonly kind: 'delete-repo'; readonly afterMs: number; readonly repo: number }
  | { readonly kind: 'delete-tenant'; readonly afterMs: number }
  | { readonly kind: 'reconcile'; readonly afterMs: number; readonly full: boolean };

export interface Scenario {
  readonly limitBytes: number | null;
  /** True sizes of the oids, in bytes. */
  readonly sizes: readonly number[];
  /** Indexes of oids that were in the bucket before the tenant was created. */
  readonly imported: readonly number[];
  readonly actions: readonly Action[];
  /** Seed of everything else that is random: latencies, faults, deaths. */
  readonly seed: number;
}

const oidCount = 10;
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
const push: fc.Arbitrary<PushAction> = fc.record({
  kind: fc.constant('push' as const),
  afterMs: gap,
  repo: fc.integer({ min: 0, max: 1 }),
  objects: fc.uniqueArray(
    fc.record({
      oid: fc.integer({ min: 0, max: oidCount - 1 }),
      lie: fc.oneof(
        { weight: 9, arbitrary: fc.constant(false) },
        { weight: 1, arbitrary: fc.constant(true) },
      ),
    }),
    { minLength: 1, maxLength: 4, selector: (object) => object.oid },
  ),
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
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('limit' as const), afterMs: gap, limitBytes: limit }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('read' as const), afterMs: gap, refresh: fc.boolean() }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('delete-object' as const),
      afterMs: gap,
      repo: fc.integer({ min: 0, max: 1 }),
      oid: fc.integer({ min: 0, max: oidCount - 1 }),
      contested: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('delete-repo' as const),
      afterMs: gap,
      repo: fc.integer({ min: 0, max: 1 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('reconcile' as const), afterMs: gap, full: fc.boolean() }),
  },
  // Rare, because little happens after it.
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete-tenant' as const), afterMs: gap }) },
);

/** What people do. fast-check shrinks a scenario that fails to the few actions that matter. */
export const scenario: fc.Arbitrary<Scenario> = fc.record({
  limitBytes: limit,
  sizes: fc.array(fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constant(0)), {
    minLength: oidCount,
    maxLength: oidCount,
  }),
  imported: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.uniqueArray(fc.integer({ min: 0, max: oidCount - 1 }), { maxLength: 4 }) },
  ),
  actions: fc.array(action, { minLength: 1, maxLength: 16 }),
  seed: fc.integer({ min: 0, max: 0x7fff_ffff }),
});
