import {
  absent,
  adding,
  all,
  anyNamed,
  atVersion,
  type Clause,
  exists,
  removing,
  setting,
} from '../table/expressions.ts';
import {
  batchGet,
  getItem,
  methodsOn,
  ofKind,
  onePage,
  putItem,
  type Table,
  updateItem,
} from '../table/requests.ts';
import { formatValues, inKnownFormat, kindKey, knownFormat, tenantKey } from '../table/table.ts';
import { counterField, limitField, parseTenant, tenantDueKey, tenantOfPartition } from './items.ts';
import type { RepoPath, Scanned, TenantRecord } from './rules/tenant.ts';

export interface NewTenant {
  readonly tenant: string;
  readonly plan: string | null;
  readonly limitBytes: number | null;
  readonly createdAtMs: number;
  /** Known only if the path was listed and found empty. */
  readonly scanned: Scanned | null;
  /** When the schedule should look at it next. */
  readonly dueAtMs: number;
  readonly uploadsFromMs?: number | undefined;
}

/** What became of a change of a tenant's settings. */
type SettingsOutcome =
  | { readonly kind: 'changed'; readonly tenant: TenantRecord }
  /** Somebody has changed them since they were read, or this very write had landed before. Here they are now. */
  | { readonly kind: 'superseded'; readonly tenant: TenantRecord }
  | { readonly kind: 'absent' };

/** Tenant items: the account and its limit. */
export function tenantMethods(table: Table) {
  return methodsOn(table, {
    readTenant,
    createTenant,
    updateTenant,
    setRepoLimit,
    closeTenant,
    listTenants,
  });
}

/** Reads the tenant item, strongly consistent. @throws {LedgerUnavailableError} @throws {NewerFormatError} */
export async function readTenant(table: Table, tenant: string): Promise<TenantRecord | undefined> {
  const item = await getItem(table, tenantKey(tenant));
  return item && parseTenant(item);
}

async function createTenant(table: Table, input: NewTenant): Promise<'created' | 'exists'> {
  const { tenant, createdAtMs, scanned, limitBytes, plan, dueAtMs, uploadsFromMs } = input;
  const { ok } = await putItem(table, {
    item: {
      ...tenantKey(tenant),
      ...kindKey('TENANT', tenant),
      ...tenantDueKey({ tenant, dueAtMs, lookAtMs: null }),
      tenant,
      format: knownFormat,
      createdAtMs,
      plan: plan ?? undefined,
      // Unlimited is an absent attribute, so that a condition can distinguish the two.
      limitBytes: limitBytes ?? undefined,
      committedBytes: scanned?.storedBytes ?? 0,
      epoch: 0,
      appliedEpoch: 0,
      confirmedBaseBytes: scanned?.storedBytes ?? 0,
      confirmedUntilMs: scanned ? Number.MAX_SAFE_INTEGER : 0,
      deletedBytes: 0,
      intents: {},
      leaseUntilMs: 0,
      uploadsFromMs,
      ...scanned,
    },
    condition: absent,
  });
  return ok ? 'created' : 'exists';
}

/**
 * Changes the fields that are given, if nobody has changed any since they were read. `limitBytes: null` lifts the
 * limit.
 *
 * A new limit ends the confirmed usage, because what is late counts only beyond the limit. It takes the next epoch too, so that
 * a running reconcile cannot commit a confirmed usage that was computed with the old one.
 */
async function updateTenant(
  table: Table,
  {
    tenant,
    settingsVersion,
    ...change
  }: {
    tenant: string;
    /** As it was read. */
    settingsVersion: number;
    limitBytes?: number | null;
    downloadLimitBytes?: number | null;
    plan?: string | null;
    reposMustExist?: boolean;
    storageClass?: string | null;
    suspended?: TenantRecord['suspended'];
    suspendedMessage?: string | null;
  },
): Promise<SettingsOutcome> {
  const given = Object.entries(change);
  // A new limit ends the confirmed usage, and any reconcile that is running.
  const isNewLimit = change.limitBytes !== undefined;
  const isNull = ([, value]: [string, unknown]) => value === null;
  return changeSettings(table, { tenant, settingsVersion }, [
    setting({
      ...Object.fromEntries(given.filter((field) => !isNull(field))),
      ...(isNewLimit && { confirmedUntilMs: 0, leaseUntilMs: 0 }),
    }),
    adding({ settingsVersion: 1, ...(isNewLimit && { epoch: 1 }) }),
    removing(...given.filter(isNull).map(([name]) => name)),
  ]);
}

/**
 * Limits one repo, or with null lifts its limit, in the same way. The repo counts as not counted from then on, and a
 * running reconcile cannot commit: a batch may have added bytes that no counter of the repo has.
 */
async function setRepoLimit(
  table: Table,
  input: RepoPath & { settingsVersion: number; limitBytes: number | null },
): Promise<SettingsOutcome> {
  const { tenant, settingsVersion, repo, limitBytes } = input;
  const limit = anyNamed('limit', [[limitField(repo), { limitBytes }]]);
  return changeSettings(table, { tenant, settingsVersion }, [
    setting({ leaseUntilMs: 0 }),
    adding({ settingsVersion: 1, epoch: 1 }),
    limitBytes === null ? limit.removing() : limit.setting(),
    anyNamed('counter', [[counterField(repo), undefined]]).removing(),
  ]);
}

/** @throws {NewerFormatError} */
async function changeSettings(
  table: Table,
  { tenant, settingsVersion }: { tenant: string; settingsVersion: number },
  change: readonly Clause[],
): Promise<SettingsOutcome> {
  const result = await updateItem(table, {
    key: tenantKey(tenant),
    change,
    condition: all(exists, atVersion('settingsVersion', settingsVersion), inKnownFormat),
    values: { ...formatValues, ':version': settingsVersion || undefined },
    returns: 'ALL_NEW',
  });
  if (result.ok) return { kind: 'changed', tenant: parseTenant(result.attributes) };
  // Throws if it was refused for its format.
  const now = await readTenant(table, tenant);
  return now ? { kind: 'superseded', tenant: now } : { kind: 'absent' };
}

/**
 * Closes a tenant for good: it takes no more batches, is due at once, and will be emptied. A tenant that is
 * closed already keeps its time. Takes the next epoch, so that a running reconcile cannot commit: its commit
 * would set when the tenant is due next.
 */
async function closeTenant(
  table: Table,
  { tenant, closedAtMs }: { tenant: string; closedAtMs: number },
): Promise<TenantRecord | undefined> {
  const result = await updateItem(table, {
    key: tenantKey(tenant),
    // Due at once: if the request to empty it is lost, the schedule finds the tenant. The next epoch keeps a
    // reconcile that is running from changing that.
    change: [
      setting({
        closedAtMs,
        ...tenantDueKey({ tenant, dueAtMs: closedAtMs, lookAtMs: null }),
        leaseUntilMs: 0,
      }),
      adding({ epoch: 1 }),
    ],
    condition: all(exists, 'attribute_not_exists(#closedAtMs)', inKnownFormat),
    values: formatValues,
    returns: 'ALL_NEW',
  });
  return result.ok ? parseTenant(result.attributes) : readTenant(table, tenant);
}

/** One page of tenants, in the order of their names. */
async function listTenants(
  table: Table,
  input: { after?: string; pageSize: number },
): Promise<readonly TenantRecord[]> {
  const { items } = await onePage(table, {
    // A space sorts before every character of a name.
    ...ofKind('TENANT', { after: input.after ?? ' ' }),
    Limit: input.pageSize,
  });
  const names = items.map((item) => tenantOfPartition(String(item['pk'])));
  const records = await batchGet(table, names.map(tenantKey));
  return records.map(parseTenant).sort((a, b) => (a.tenant < b.tenant ? -1 : 1));
}
