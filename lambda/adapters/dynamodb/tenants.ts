import { tenantClaimsMax } from '../../domain/tenant.ts';
import type { Input, Output, SettingsOutcome, TenantLedger } from '../../ports/ledger.ts';
import { dueTenants } from './due-tenants.ts';
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
} from './expressions.ts';
import { formatValues, inKnownFormat, knownFormat } from './format.ts';
import {
  counterField,
  kindKey,
  limitField,
  parseTenant,
  tenantDueKey,
  tenantKey,
  tenantOfPartition,
} from './items.ts';
import { onePage } from './pages.ts';
import { batchGet, getItem, putItem, type Table, updateItem } from './requests.ts';
import { byKindIndex } from './table.ts';

/** Tenant items: the account, its limit and the atomic counter. */
export function tenantMethods(table: Table): TenantLedger {
  return {
    readTenant: (tenant) => readTenant(table, tenant),
    createTenant: (input) => createTenant(table, input),
    updateTenant: (input) => updateTenant(table, input),
    setRepoLimit: (input) => setRepoLimit(table, input),
    closeTenant: (input) => closeTenant(table, input),
    addCommitted: (input) => addCommitted(table, input),
    listTenants: (input) => listTenants(table, input),
    dueTenants: (input) => dueTenants(table, input),
  };
}

/** Reads the tenant item, strongly consistent. @throws {LedgerUnavailableError} @throws {NewerFormatError} */
export async function readTenant(table: Table, tenant: Input<'readTenant'>): Output<'readTenant'> {
  const item = await getItem(table, tenantKey(tenant));
  return item && parseTenant(item);
}

async function createTenant(table: Table, input: Input<'createTenant'>): Output<'createTenant'> {
  const { tenant, createdAtMs, counted, limitBytes, plan, dueAtMs } = input;
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
      committedBytes: counted?.storedBytes ?? 0,
      epoch: 0,
      appliedEpoch: 0,
      floorBaseBytes: counted?.storedBytes ?? 0,
      floorUntilMs: counted ? Number.MAX_SAFE_INTEGER : 0,
      deletedBytes: 0,
      notes: {},
      leaseUntilMs: 0,
      ...counted,
    },
    condition: absent,
  });
  return ok ? 'created' : 'exists';
}

async function updateTenant(
  table: Table,
  { tenant, settingsVersion, ...change }: Input<'updateTenant'>,
): Output<'updateTenant'> {
  const given = Object.entries(change);
  // A new limit ends the floor, and any reconcile that is running.
  const isNewLimit = change.limitBytes !== undefined;
  const isNull = ([, value]: [string, unknown]) => value === null;
  return changeSettings(table, { tenant, settingsVersion }, [
    setting({
      ...Object.fromEntries(given.filter((field) => !isNull(field))),
      ...(isNewLimit && { floorUntilMs: 0, leaseUntilMs: 0 }),
    }),
    adding({ settingsVersion: 1, ...(isNewLimit && { epoch: 1 }) }),
    removing(...given.filter(isNull).map(([name]) => name)),
  ]);
}

async function setRepoLimit(table: Table, input: Input<'setRepoLimit'>): Output<'setRepoLimit'> {
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

async function closeTenant(
  table: Table,
  { tenant, closedAtMs }: Input<'closeTenant'>,
): Output<'closeTenant'> {
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

/**
 * The one write of a batch to the tenant item. DynamoDB's conditions have no arithmetic. So the ceiling is computed
 * from the limit that the caller read, and the condition requires that this is still the limit.
 */
async function addCommitted(table: Table, input: Input<'addCommitted'>): Output<'addCommitted'> {
  const { tenant, sumBytes, limitBytes, repo, claimCount = 0, lateMax, beforeMax = {} } = input;
  const { claimsMax = tenantClaimsMax } = input;
  const { tenantBytes = Number.MAX_SAFE_INTEGER, repoBytes = Number.MAX_SAFE_INTEGER } = beforeMax;
  const repoLimitBytes = limitBytes === 'any' ? null : repo.limitBytes;
  const result = await updateItem(table, {
    key: tenantKey(tenant),
    change: [
      adding({ committedBytes: sumBytes, claimCount }),
      ...(repoLimitBytes === null
        ? []
        : [anyNamed('counter', [[counterField(repo.name), sumBytes]]).adding()]),
    ],
    condition: all(
      exists,
      'attribute_not_exists(#closedAtMs)',
      '(attribute_not_exists(#claimCount) OR #claimCount <= :claimsCeiling)',
      ...(limitBytes === 'any'
        ? []
        : [
            '#committedBytes <= :ceiling',
            limitCondition(limitBytes),
            repoLimitCondition(repoLimitBytes),
            ...(lateMax
              ? [
                  '(attribute_not_exists(#late) OR #late.#bytes <= :late)',
                  '(attribute_not_exists(#repoLimit.#late) OR #repoLimit.#late.#bytes <= :repoLate)',
                ]
              : []),
          ]),
      inKnownFormat,
    ),
    values: {
      ...formatValues,
      ...(limitBytes !== 'any' && {
        ':ceiling': Math.min((limitBytes ?? Number.MAX_SAFE_INTEGER) - sumBytes, tenantBytes),
      }),
      ':claimsCeiling': claimsMax - claimCount,
      ...(limitBytes !== 'any' &&
        lateMax && { ':late': lateMax.tenantBytes, ':repoLate': lateMax.repoBytes }),
      ':limit': typeof limitBytes === 'number' ? limitBytes : undefined,
      ...(repoLimitBytes !== null && {
        ':repoCeiling': Math.min(repoLimitBytes - sumBytes, repoBytes),
        ':repoLimit': repoLimitBytes,
      }),
    },
    ...(limitBytes !== 'any' && { keys: { '#repoLimit': limitField(repo.name) } }),
  });
  if (result.ok) return { kind: 'added' };
  const now = await readTenant(table, tenant);
  return now ? { kind: 'refused', tenant: now } : { kind: 'absent' };
}

/** That the tenant's limit is still the one that was read. One with a limit must have been counted. */
function limitCondition(limitBytes: number | null): string {
  return limitBytes === null
    ? 'attribute_not_exists(#limitBytes)'
    : all('#limitBytes = :limit', 'attribute_exists(#countedAtMs)');
}

/** The same for the limit of the repo. Its counter is there once the repo was counted. */
function repoLimitCondition(limitBytes: number | null): string {
  return limitBytes === null
    ? 'attribute_not_exists(#repoLimit)'
    : all('#repoLimit.#limitBytes = :repoLimit', '#counter0 <= :repoCeiling');
}

async function listTenants(table: Table, input: Input<'listTenants'>): Output<'listTenants'> {
  const { items } = await onePage(table, {
    IndexName: byKindIndex.name,
    KeyConditionExpression: '#kind = :kind AND #name > :after',
    ExpressionAttributeNames: { '#kind': byKindIndex.pk, '#name': byKindIndex.sk },
    // A space sorts before every character of a name.
    ExpressionAttributeValues: { ':kind': 'TENANT', ':after': input.after ?? ' ' },
    Limit: input.pageSize,
  });
  const names = items.map((item) => tenantOfPartition(String(item['pk'])));
  const records = await batchGet(table, names.map(tenantKey));
  return records.map(parseTenant).sort((a, b) => (a.tenant < b.tenant ? -1 : 1));
}
