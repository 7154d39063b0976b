import * as z from 'zod';
import type { HostOrganization } from '../access/rules/host-user.ts';
import { hostOf } from '../access/rules/host-user.ts';
import type { Voucher } from '../access/token-store.ts';
import { absent, exists } from '../table/expressions.ts';
import {
  allItems,
  batchGet,
  changeItem,
  deleteItem,
  getItem,
  inPartition,
  methodsOn,
  putItem,
  type Table,
} from '../table/requests.ts';
import { expiring } from '../table/table.ts';
import { type AllowedOrganization, type LoginRecord, tenantsPerOrganizationMax } from './rules/sign-in.ts';

const scope = z.enum(['read', 'write', 'manage']).nullable();

const allowedItem = z.object({
  tenant: z.string(),
  host: z.string(),
  organizationId: z.string(),
  name: z.string(),
  owners: scope,
  members: scope,
  collaborators: z.boolean(),
  sinceMs: z.number(),
});

const loginItem = z.object({
  loginId: z.string(),
  host: z.string(),
  next: z.string(),
  addsOrganization: z.boolean(),
  expiresAtMs: z.number(),
});

type OrganizationKey = Pick<HostOrganization, 'host' | 'organizationId'>;

const partitionOf = (tenant: string) => `USERS#${tenant}`;

/** The key of what a tenant allows an organization. */
const allowedOrganizationKey = ({ tenant, host, organizationId }: { tenant: string } & OrganizationKey) => ({
  pk: partitionOf(tenant),
  sk: `ORGANIZATION#${host}:${organizationId}`,
});

/** What the item of that key says. */
const allowedOrganizationIn = (item: unknown): AllowedOrganization => allowedItem.parse(item);

/** Whether what lets somebody sign in is still as it was then. */
export const organizationVouches: Voucher = async (table, { tenant, hostUser, allowedBy }) => {
  if (!hostUser || !allowedBy) return false;
  const { organizationId, sinceMs } = allowedBy;
  const item = await getItem(
    table,
    allowedOrganizationKey({ tenant, host: hostOf(hostUser), organizationId }),
  );
  return item !== undefined && allowedOrganizationIn(item).sinceMs === sinceMs;
};

/** Which tenants may allow an organization. Their own items decide. */
const tenantsKey = ({ host, organizationId }: OrganizationKey) => ({
  pk: `ORGANIZATION#${host}:${organizationId}`,
  sk: 'TENANTS',
});

const tenantsItem = z.object({
  host: z.string(),
  organizationId: z.string(),
  tenants: z.array(z.string()),
});

const loginKey = (loginId: string) => ({ pk: `LOGIN#${loginId}`, sk: 'LOGIN' });

/** Who may sign in by a git host, and who is about to. On the ledger's table. All reads are strongly consistent. */
export function createDynamoDbUsers(table: Table) {
  return methodsOn(table, { list, allow, disallow, findAllowed, putLogin, takeLogin });
}

export type Users = ReturnType<typeof createDynamoDbUsers>;

/** What a tenant allows, in no special order. @throws {LedgerUnavailableError} */
async function list(table: Table, tenant: string): Promise<readonly AllowedOrganization[]> {
  const items = await allItems(table, inPartition(partitionOf(tenant), { prefix: 'ORGANIZATION#' }));
  return items.map(allowedOrganizationIn);
}

/** @param tenantsMax of the organization. @returns full: too many tenants allow it. @throws {LedgerUnavailableError} */
async function allow(
  table: Table,
  allowed: AllowedOrganization,
  tenantsMax = tenantsPerOrganizationMax,
): Promise<'allowed' | 'full'> {
  const { tenant } = allowed;
  // First: what no tenant finds, lets nobody in.
  const isFound = await changeTenants(table, allowed, (tenants) => {
    if (tenants.includes(tenant)) return tenants;
    return tenants.length < tenantsMax ? [...tenants, tenant] : undefined;
  });
  if (!isFound) return 'full';
  await putItem(table, {
    item: { ...allowedOrganizationKey(allowed), ...allowed },
    // A write that lands late changes nothing.
    condition: `${absent} OR #sinceMs <= :sinceMs`,
    values: { ':sinceMs': allowed.sinceMs },
  });
  return 'allowed';
}

/**
 * If it's allowed at the same time, it may let nobody in until it's allowed once more.
 *
 * @returns what there was. @throws {LedgerUnavailableError}
 */
async function disallow(
  table: Table,
  organization: { tenant: string } & OrganizationKey,
): Promise<AllowedOrganization | undefined> {
  const key = allowedOrganizationKey(organization);
  const found = await deleteItem(table, { key, returns: 'ALL_OLD' });
  await changeTenants(table, organization, (tenants) =>
    tenants.filter((each) => each !== organization.tenant),
  );
  return found.ok && found.attributes ? allowedOrganizationIn(found.attributes) : undefined;
}

/** What all tenants allow these organizations. @throws {LedgerUnavailableError} */
async function findAllowed(
  table: Table,
  organizations: readonly OrganizationKey[],
): Promise<readonly AllowedOrganization[]> {
  const found = await batchGet(table, organizations.map(tenantsKey));
  const keys = found.flatMap((item) => {
    const { tenants, ...organization } = tenantsItem.parse(item);
    return tenants.map((tenant) => allowedOrganizationKey({ tenant, ...organization }));
  });
  return (await batchGet(table, keys)).map(allowedOrganizationIn);
}

/** @param change undefined: there would be too many. @returns whether there weren't. */
async function changeTenants(
  table: Table,
  { host, organizationId }: OrganizationKey,
  change: (tenants: readonly string[]) => readonly string[] | undefined,
): Promise<boolean> {
  let tenants: readonly string[] | undefined;
  await changeItem(table, tenantsKey({ host, organizationId }), (item) => {
    tenants = change(item ? tenantsItem.parse(item).tenants : []);
    // What no tenant has ever allowed leaves nothing, whatever numbers somebody makes up.
    return tenants && (item || tenants.length > 0) ? { host, organizationId, tenants } : undefined;
  });
  return tenants !== undefined;
}

/** A sign-in that starts. The table's TTL removes it. @throws {LedgerUnavailableError} */
async function putLogin(table: Table, login: LoginRecord): Promise<void> {
  const expires = expiring(login.expiresAtMs);
  await putItem(table, { item: { ...loginKey(login.loginId), ...login, ...expires }, condition: absent });
}

/** Takes it away: of all that ask at the same time, one gets it. @throws {LedgerUnavailableError} */
async function takeLogin(table: Table, loginId: string): Promise<LoginRecord | undefined> {
  const key = loginKey(loginId);
  const found = await deleteItem(table, { key, condition: exists, returns: 'ALL_OLD' });
  return found.ok && found.attributes ? loginItem.parse(found.attributes) : undefined;
}
