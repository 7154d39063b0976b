import { tenantPrefix } from '../../domain/names.ts';
import { dueAfterFullMs } from '../../domain/recount-policy.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { Deps } from '../deps.ts';

export type CreateTenantOutcome =
  | { readonly kind: 'created'; readonly tenant: TenantRecord }
  | { readonly kind: 'exists' }
  /** It was a deleted tenant's: its name stays taken. */
  | { readonly kind: 'deleted' };

/**
 * Creates a tenant. Its path is listed once: empty, it is counted from the start (zero, and that is true);
 * otherwise a full reconcile is queued, and uploads below a limit wait for it.
 */
export async function createTenant(
  deps: Pick<Deps, 'ledger' | 'listing' | 'queue' | 'clock' | 'settings'>,
  input: { tenant: string; plan: string | null; limitBytes: number | null },
): Promise<CreateTenantOutcome> {
  const { ledger, listing, queue, clock, settings } = deps;
  const nowMs = clock.nowMs();
  const page = await listing.listPage({ prefix: tenantPrefix(input.tenant), maxKeys: 1 });
  const isEmpty = page.keyCount === 0;
  const outcome = await ledger.createTenant({
    ...input,
    createdAtMs: nowMs,
    counted: isEmpty ? { storedBytes: 0, objectCount: 0, countedAtMs: nowMs } : null,
    dueAtMs: isEmpty
      ? dueAfterFullMs(settings, {
          tenant: input.tenant,
          epoch: 0,
          countedAtMs: nowMs,
          listedUntilMs: 0,
          unchangedForMs: 0,
        })
      : nowMs,
  });
  if (outcome === 'created' && !isEmpty)
    await queue.request({ tenant: input.tenant, reason: 'import', full: true });
  const tenant = await ledger.readTenant(input.tenant);
  if (!tenant) throw new Error(`Tenant ${input.tenant} vanished; tenants are never removed.`);
  if (outcome === 'created') return { kind: 'created', tenant };
  return { kind: tenant.closedAtMs === null ? 'exists' : 'deleted' };
}
