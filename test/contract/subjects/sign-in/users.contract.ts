import { describe, expect, it } from 'vitest';
import {
  type AllowedOrganization,
  allowedOrganizationsMax,
  type LoginRecord,
  tenantsByOperatorMax,
  tenantsPerOrganizationMax,
} from '../../../../lambda/subjects/sign-in/rules/sign-in.ts';
import { createDynamoDbUsers } from '../../../../lambda/subjects/sign-in/user-store.ts';
import { onceOpen } from '../../../support/once-open.ts';
import { type OpenTable, tenantName } from '../../ledger-context.ts';

const newNumber = () => String(1 + Math.floor(Math.random() * 1e15));

/** Who may sign in by a git host, and who is about to. */
export function usersContract(table: OpenTable): void {
  describe('users of git hosts', () => {
    const users = onceOpen(async () => createDynamoDbUsers(await table()));
    const allowed = (tenant: string, organizationId: string, sinceMs = 1): AllowedOrganization => ({
      tenant,
      host: 'forge',
      organizationId,
      name: 'acme-games',
      owners: 'manage',
      members: null,
      collaborators: false,
      sinceMs,
    });

    it('are found by the number of an organization, whichever tenants allow it', async () => {
      const [one, two] = [tenantName(), tenantName()];
      const [first, second] = [newNumber(), newNumber()];
      for (const each of [allowed(one, first), allowed(two, first), allowed(two, second)])
        expect(await users.allow(each)).toBe('allowed');
      const found = await users.findAllowed([
        { host: 'forge', organizationId: first },
        { host: 'other', organizationId: second },
        { host: 'forge', organizationId: newNumber() },
      ]);
      expect(found.map(({ tenant }) => tenant).sort()).toEqual([one, two].sort());
      expect(await users.list(one)).toEqual([allowed(one, first)]);
      expect(await users.findAllowed([])).toEqual([]);
    });

    it('are replaced by a change, and by no earlier one', async () => {
      const [tenant, organizationId] = [tenantName(), newNumber()];
      for (const sinceMs of [1, 3, 2]) await users.allow(allowed(tenant, organizationId, sinceMs));
      expect(await users.list(tenant)).toEqual([allowed(tenant, organizationId, 3)]);
      const organization = { tenant, host: 'forge', organizationId };
      expect(await users.disallow(organization)).toEqual(allowed(tenant, organizationId, 3));
      expect(await users.disallow(organization)).toBeUndefined();
      expect(await users.list(tenant)).toEqual([]);
      expect(await users.findAllowed([organization])).toEqual([]);
    });

    it('are all shown, also those that came at the same time and passed the bound', async () => {
      const tenant = tenantName();
      const passing = Array.from({ length: 2 * allowedOrganizationsMax + 5 }, () =>
        allowed(tenant, newNumber()),
      );
      await Promise.all(passing.map((each) => users.allow(each)));
      expect(await users.list(tenant)).toHaveLength(passing.length);
    });

    it('are of so many tenants for an organization, also if all come at the same time', async () => {
      const organizationId = newNumber();
      const tenants = Array.from({ length: tenantsPerOrganizationMax + 1 }, tenantName);
      const outcomes = await Promise.all(
        tenants.map((tenant) => users.allow(allowed(tenant, organizationId))),
      );
      expect(outcomes.filter((outcome) => outcome === 'full')).toHaveLength(1);
      expect(await users.findAllowed([{ host: 'forge', organizationId }])).toHaveLength(
        tenantsPerOrganizationMax,
      );
      // Whichever of them came last.
      const allowedOne = tenants[outcomes.findIndex((outcome) => outcome !== 'full')] ?? '';
      expect(await users.allow(allowed(allowedOne, organizationId, 2))).not.toBe('full');
      const byOperator = allowed(tenantName(), organizationId);
      expect(await users.allow(byOperator)).toBe('full');
      expect(await users.allow(byOperator, tenantsByOperatorMax)).toBe('allowed');
    });

    it('come back from the host once', async () => {
      const login: LoginRecord = {
        loginId: newNumber(),
        host: 'forge',
        next: '#acme',
        addsOrganization: false,
        expiresAtMs: 600_000,
      };
      await users.putLogin(login);
      const taken = await Promise.all([1, 2, 3].map(() => users.takeLogin(login.loginId)));
      expect(taken.filter((each) => each !== undefined)).toEqual([login]);
      expect(await users.takeLogin(newNumber())).toBeUndefined();
    });
  });
}
