import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { Input } from '../../core/ledger/ledger.ts';
import { dueAfterFullMs } from '../../core/ledger/rules/reconcile-policy.ts';
import type { TenantRecord } from '../../core/ledger/rules/tenant.ts';
import { mapLimited } from '../../core/rules/async.ts';
import { isTenantName, tenantPrefix } from '../../core/rules/names.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import { hasKeys } from '../../core/store/rules/store.ts';
import type { AccessPorts } from './ports.ts';
import { overSettings } from './repos.ts';
import { claimRequest } from './request-keys.ts';

type CreateTenantDeps = Pick<CoreDeps, 'ledger' | 'listing' | 'queue' | 'clock' | 'settings'> &
  Pick<FilePorts, 'adoptedRepos'>;

interface Account {
  readonly tenant: string;
  readonly plan: string | null;
  readonly limitBytes: number | null;
  readonly uploadsFromMs?: number | undefined;
}

type CreateTenantOutcome =
  | { readonly kind: 'created'; readonly tenant: TenantRecord }
  | { readonly kind: 'exists' }
  /** It was a deleted tenant's: its name stays taken. */
  | { readonly kind: 'deleted' }
  /** Its keys would lie among those of an adopted repo. */
  | { readonly kind: 'reserved' };

/**
 * Creates a tenant. Its path is listed once. If it is empty, the tenant is counted from the start: zero, and that is
 * true. Otherwise a full reconcile is queued, and uploads below a limit wait for it.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function createTenant(deps: CreateTenantDeps, account: Account): Promise<CreateTenantOutcome> {
  if (deps.adoptedRepos.isReserved(account.tenant)) return { kind: 'reserved' };
  const outcome = await putTenant(deps, { ...account, createdAtMs: deps.clock.nowMs() });
  const tenant = await readTenant(deps, account.tenant);
  if (outcome === 'created') return { kind: 'created', tenant };
  return { kind: tenant.closedAtMs === null ? 'exists' : 'deleted' };
}

/**
 * Creates a tenant, at most once for a request key: a request that is repeated has the outcome of the first one.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function createTenantOnce(
  deps: CreateTenantDeps & Pick<CoreDeps, 'ids'> & Pick<AccessPorts, 'requestKeys'>,
  input: { account: Account; requestKey: string },
): Promise<CreateTenantOutcome | { readonly kind: 'key-reused' }> {
  const { account, requestKey } = input;
  if (deps.adoptedRepos.isReserved(account.tenant)) return { kind: 'reserved' };
  const claim = await claimRequest(deps, { purpose: 'create tenant', requestKey, body: account });
  if (claim.kind === 'key-reused') return claim;
  const { isDone, beganAtMs: createdAtMs } = claim.record;
  if (!isDone) await putTenant(deps, { ...account, createdAtMs });
  const tenant = await readTenant(deps, account.tenant);
  if (tenant.closedAtMs !== null) return { kind: 'deleted' };
  // The time tells a tenant that this request created, now or before, from one that somebody else did.
  if (tenant.createdAtMs !== createdAtMs) return { kind: 'exists' };
  await claim.finish();
  return { kind: 'created', tenant };
}

async function readTenant(deps: Pick<CoreDeps, 'ledger'>, name: string): Promise<TenantRecord> {
  const tenant = await deps.ledger.readTenant(name);
  if (!tenant) throw new Error(`Tenant ${name} vanished; tenants are never removed.`);
  return tenant;
}

async function putTenant(
  deps: CreateTenantDeps,
  input: Account & { createdAtMs: number },
): Promise<'created' | 'exists'> {
  const { ledger, listing, queue, settings } = deps;
  const { tenant, createdAtMs } = input;
  // A time in the past would hold nothing.
  const uploadsFromMs = input.uploadsFromMs && Math.max(createdAtMs, input.uploadsFromMs);
  const isEmpty = !(await hasKeys(listing, tenantPrefix(tenant)));
  const outcome = await ledger.createTenant({
    ...input,
    uploadsFromMs,
    scanned: isEmpty ? { storedBytes: 0, objectCount: 0, scannedAtMs: createdAtMs } : null,
    dueAtMs:
      isEmpty && uploadsFromMs === undefined
        ? dueAfterFullMs(settings, {
            tenant,
            epoch: 0,
            scannedAtMs: createdAtMs,
            listedUntilMs: 0,
            unchangedForMs: 0,
          })
        : createdAtMs,
  });
  if (outcome === 'created' && !isEmpty) await queue.request({ tenant, reason: 'import', full: true });
  return outcome;
}

const readsAtOnce = 16;

/**
 * The folders of the bucket that a tenant can have, and none has: what is left of tenants when the table is lost. A page
 * of them, in the order of the store.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function lostTenants(
  { ledger, listing }: Pick<CoreDeps, 'ledger' | 'listing'>,
  continuationToken: string | undefined,
): Promise<{ tenants: string[]; nextToken: string | undefined }> {
  const page = await listing.listFolders({ prefix: '', ...(continuationToken && { continuationToken }) });
  const folders = new Set(page.commonPrefixes.map((folder) => folder.slice(0, folder.indexOf('/'))));
  const names = [...folders].filter(isTenantName);
  const records = await mapLimited(names, readsAtOnce, (name) => ledger.readTenant(name));
  return { tenants: names.filter((_, index) => !records[index]), nextToken: page.nextContinuationToken };
}

type SettingsChange = Omit<Input<'updateTenant'>, 'tenant' | 'settingsVersion'>;

type UpdateTenantOutcome =
  /** `before` is what it was changed over. */
  | { readonly kind: 'changed'; readonly before: TenantRecord; readonly tenant: TenantRecord }
  | { readonly kind: 'absent' };

/**
 * Changes the fields that are given of a tenant's limits and plan.
 *
 * @param input.tenant as read for this request. @param input.beganMs when that came, before the tenant was read.
 * @throws {LedgerUnavailableError}
 */
export async function updateTenant(
  deps: Pick<CoreDeps, 'ledger' | 'clock' | 'settings'>,
  input: {
    tenant: TenantRecord;
    beganMs: number;
    change: SettingsChange;
  },
): Promise<UpdateTenantOutcome> {
  return overSettings(deps, input, async (before, tried) => {
    // The limit that it has already would end its confirmed usage, and a reconcile that is running, for nothing.
    const change = changeOf(before, input.change);
    if (Object.keys(change).length === 0) return { kind: 'changed', before: tried ?? before, tenant: before };
    const { tenant, settingsVersion } = before;
    const outcome = await deps.ledger.updateTenant({ tenant, settingsVersion, ...change });
    return outcome.kind === 'changed' ? { ...outcome, before } : outcome;
  });
}

/** What of it is new to the tenant. */
function changeOf(tenant: TenantRecord, wanted: SettingsChange): SettingsChange {
  const names = Object.keys(wanted) as (keyof SettingsChange)[];
  return Object.fromEntries(
    names.filter((name) => wanted[name] !== tenant[name]).map((name) => [name, wanted[name]]),
  );
}
