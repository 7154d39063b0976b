import type { Deps } from '../../deps.ts';
import { dueAfterFullMs } from '../../domain/recount-policy.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import { tenantPrefix } from '../../rules/names.ts';
import { hasKeys } from '../../store/rules/store.ts';
import { claimRequest } from './request-key.ts';

type CreateTenantDeps = Pick<Deps, 'ledger' | 'listing' | 'adoptedRepos' | 'queue' | 'clock' | 'settings'>;

interface Account {
  readonly tenant: string;
  readonly plan: string | null;
  readonly limitBytes: number | null;
}

export type CreateTenantOutcome =
  | { readonly kind: 'created'; readonly tenant: TenantRecord }
  | { readonly kind: 'exists' }
  /** It was a deleted tenant's: its name stays taken. */
  | { readonly kind: 'deleted' }
  /** Its keys would lie among those of an adopted repo. */
  | { readonly kind: 'reserved' };

/**
 * Creates a tenant. Its path is listed once. If it is empty, the tenant is counted from the start: zero, and that is
 * true. Otherwise a full recount is queued, and uploads below a limit wait for it.
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
  deps: CreateTenantDeps & Pick<Deps, 'requestKeys' | 'ids'>,
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

async function readTenant(deps: Pick<Deps, 'ledger'>, name: string): Promise<TenantRecord> {
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
  const isEmpty = !(await hasKeys(listing, tenantPrefix(tenant)));
  const outcome = await ledger.createTenant({
    ...input,
    counted: isEmpty ? { storedBytes: 0, objectCount: 0, countedAtMs: createdAtMs } : null,
    dueAtMs: isEmpty
      ? dueAfterFullMs(settings, {
          tenant,
          epoch: 0,
          countedAtMs: createdAtMs,
          listedUntilMs: 0,
          unchangedForMs: 0,
        })
      : createdAtMs,
  });
  if (outcome === 'created' && !isEmpty) await queue.request({ tenant, reason: 'import', full: true });
  return outcome;
}
