import * as z from 'zod';
import { absent, exists } from '../../core/table/expressions.ts';
import { recordsOf } from '../../core/table/records.ts';
import { inPartition, methodsOn, type Table } from '../../core/table/requests.ts';
import { expiring } from '../../core/table/table.ts';
import { hostOf } from '../../frame/access/rules/host-user.ts';
import type { Voucher } from '../../frame/access/token-store.ts';
import {
  type AllowedOrganization,
  allowedSchema,
  type HostOrganization,
  type LoginRecord,
  loginSchema,
  tenantsPerOrganizationMax,
} from './rules/sign-in.ts';

type OrganizationKey = Pick<HostOrganization, 'host' | 'organizationId'>;

const partitionOf = (tenant: string) => `USERS#${tenant}`;

/** What a tenant allows an organization. */
const allowedOrganizations = recordsOf<{ tenant: string } & OrganizationKey, AllowedOrganization>({
  keyOf: ({ tenant, host, organizationId }) => ({
    pk: partitionOf(tenant),
    sk: `ORGANIZATION#${host}:${organizationId}`,
  }),
  schema: allowedSchema,
});

interface AllowingTenants extends OrganizationKey {
  readonly tenants: readonly string[];
}

/** Whether what lets somebody sign in is still as it was then. */
export const organizationVouches: Voucher = async (table, { tenant, hostUser, allowedBy }) => {
  if (!hostUser || !allowedBy) return false;
  const { organizationId, sinceMs } = allowedBy;
  const allowed = await allowedOrganizations.read(table, { tenant, host: hostOf(hostUser), organizationId });
  return allowed?.sinceMs === sinceMs;
};

/** Which tenants may allow an organization. Their own items decide. */
const allowingTenants = recordsOf<OrganizationKey, AllowingTenants>({
  keyOf: ({ host, organizationId }) => ({ pk: `ORGANIZATION#${host}:${organizationId}`, sk: 'TENANTS' }),
  schema: z.object({ host: z.string(), organizationId: z.string(), tenants: z.array(z.string()) }),
});

const loginFields = (login: LoginRecord) => ({ ...login, ...expiring(login.expiresAtMs) });
const logins = recordsOf<Pick<LoginRecord, 'loginId'>, LoginRecord>({
  keyOf: ({ loginId }) => ({ pk: `LOGIN#${loginId}`, sk: 'LOGIN' }),
  schema: loginSchema,
  fields: loginFields,
});

/** Who may sign in by a git host, and who is about to. On the ledger's table. All reads are strongly consistent. */
export function createDynamoDbUsers(table: Table) {
  return methodsOn(table, {
    list,
    allow,
    disallow,
    findAllowed,
    /** A sign-in that starts. The table's TTL removes it. */
    putLogin: logins.put,
    takeLogin,
  });
}

export type Users = ReturnType<typeof createDynamoDbUsers>;

/** What a tenant allows, in no special order. */
const list = (table: Table, tenant: string) =>
  allowedOrganizations.list(table, inPartition(partitionOf(tenant), { prefix: 'ORGANIZATION#' }));

/** @param tenantsMax of the organization. @returns full: too many tenants allow it. */
async function allow(
  table: Table,
  allowed: AllowedOrganization,
  tenantsMax = tenantsPerOrganizationMax,
): Promise<'allowed' | 'full'> {
  const { tenant, sinceMs } = allowed;
  // First: what no tenant finds, lets nobody in.
  const isFound = await changeTenants(table, allowed, (tenants) => {
    if (tenants.includes(tenant)) return tenants;
    return tenants.length < tenantsMax ? [...tenants, tenant] : undefined;
  });
  if (!isFound) return 'full';
  // A write that lands late changes nothing.
  const isNewest = { condition: `${absent} OR #sinceMs <= :sinceMs`, values: { ':sinceMs': sinceMs } };
  await allowedOrganizations.put(table, allowed, isNewest);
  return 'allowed';
}

/** If it's allowed at the same time, it may let nobody in until it's allowed once more. @returns what there was. */
async function disallow(
  table: Table,
  organization: { tenant: string } & OrganizationKey,
): Promise<AllowedOrganization | undefined> {
  const found = await allowedOrganizations.take(table, organization);
  await changeTenants(table, organization, (tenants) =>
    tenants.filter((each) => each !== organization.tenant),
  );
  return found;
}

/** What all tenants allow these organizations. */
async function findAllowed(table: Table, organizations: readonly OrganizationKey[]) {
  const found = await allowingTenants.readSome(table, organizations);
  const keys = found.flatMap(({ tenants, ...key }) => tenants.map((tenant) => ({ tenant, ...key })));
  return allowedOrganizations.readSome(table, keys);
}

/** @param change undefined: there would be too many. @returns whether there weren't. */
async function changeTenants(
  table: Table,
  { host, organizationId }: OrganizationKey,
  change: (tenants: readonly string[]) => readonly string[] | undefined,
): Promise<boolean> {
  let tenants: readonly string[] | undefined;
  await allowingTenants.change(table, { host, organizationId }, (found) => {
    tenants = change(found?.tenants ?? []);
    // What no tenant has ever allowed leaves nothing, whatever numbers somebody makes up.
    return tenants && (found || tenants.length > 0) ? { host, organizationId, tenants } : undefined;
  });
  return tenants !== undefined;
}

/** Takes it away: of all that ask at the same time, one gets it. */
const takeLogin = (table: Table, loginId: string) => logins.take(table, { loginId }, { condition: exists });
