import { describe, expect, it } from 'vitest';
import { createDynamoDbDevices } from '../../../../lambda/subjects/invitations/device-store.ts';
import { createDynamoDbInvitations } from '../../../../lambda/subjects/invitations/invitation-store.ts';
import type {
  DeviceRecord,
  InvitationRecord,
} from '../../../../lambda/subjects/invitations/rules/invitations.ts';
import { onceOpen } from '../../../support/once-open.ts';
import { type OpenTable, tenantName } from '../../ledger-context.ts';

const minute = 60_000;

export function invitationsContract(table: OpenTable): void {
  describe('invitations', () => {
    const invitations = onceOpen(async () => createDynamoDbInvitations(await table()));
    const of = (tenant: string, id: string, more: Partial<InvitationRecord> = {}): InvitationRecord => ({
      tenant,
      invitationId: id,
      secretSha256: id.repeat(4),
      scope: 'write',
      repos: ['game'],
      user: null,
      lifetimeMs: 90,
      inviterId: null,
      inviter: 'grace',
      createdAtMs: 1,
      expiresAtMs: 100 * minute,
      ...more,
    });
    const accepted = (keySha256: string, atMs = 2) => ({ atMs, keySha256, user: null });

    it('are found and listed as they were put, each tenant’s own, and deleted once', async () => {
      const [tenant, other] = [tenantName(), tenantName()];
      const [first, second] = [of(tenant, 'b'), of(tenant, 'a', { createdAtMs: 2, repos: null })];
      for (const each of [second, first, of(other, 'c')]) expect(await invitations.put(each)).toBe('created');
      expect(await invitations.list(tenant)).toEqual([first, second]);
      expect(await invitations.find(first)).toEqual(first);
      expect(await invitations.find({ tenant: other, invitationId: 'b' })).toBeUndefined();
      expect(await invitations.delete({ tenant: other, invitationId: 'b' })).toBe('absent');
      expect(await invitations.delete(first)).toBe('deleted');
      expect(await invitations.delete(first)).toBe('absent');
    });

    it('are accepted once, however many do at the same time, until they end', async () => {
      const tenant = tenantName();
      const [one, ended] = [of(tenant, 'a'), of(tenant, 'b', { expiresAtMs: 2 })];
      for (const each of [one, ended]) await invitations.put(each);
      const keys = ['k0', 'k1', 'k2', 'k3'];
      const found = await Promise.all(
        keys.map((key) => invitations.accept({ ...one, accepted: accepted(key) })),
      );
      expect(new Set(found.map((each) => each?.accepted?.keySha256)).size).toBe(1);
      expect((await invitations.accept({ ...ended, accepted: accepted('k') }))?.accepted).toBeUndefined();
      const absent = { tenant, invitationId: 'c', accepted: accepted('k') };
      expect(await invitations.accept(absent)).toBeUndefined();
      expect(await invitations.delete(one)).toBe('absent');
    });

    it('end with their inviter, and make space for others when they are over', async () => {
      const tenant = tenantName();
      await invitations.put(of(tenant, 'a', { inviterId: 'x' }));
      await invitations.put(of(tenant, 'b', { inviterId: 'y', expiresAtMs: 5 }));
      await invitations.deleteOf({ tenant, inviterId: 'x' });
      expect(await invitations.list(tenant)).toHaveLength(1);
      const later = of(tenant, 'c', { createdAtMs: 5 });
      await invitations.put(later);
      expect(await invitations.list(tenant)).toEqual([later]);
    });
  });
}

export function devicesContract(table: OpenTable): void {
  describe('command lines that wait', () => {
    const devices = onceOpen(async () => createDynamoDbDevices(await table()));
    const device = (code: string, expiresAtMs = 10): DeviceRecord => ({
      userCodeSha256: code,
      tokenId: 'id',
      secretSha256: 'hash',
      machine: 'ada on laptop',
      expiresAtMs,
    });

    it('have a slot until they end, also once they are approved', async () => {
      const slot = tenantName().slice(-4).padStart(4, '0');
      const [first, second] = [device(`${slot}1`), device(`${slot}2`, 30)];
      expect(await devices.put({ record: first, nowMs: 1 })).toBe('stored');
      expect(await devices.put({ record: second, nowMs: 9 })).toBe('taken');
      expect(await devices.find({ userCodeSha256: `${slot}1`, nowMs: 9 })).toEqual(first);
      expect(await devices.find({ userCodeSha256: `${slot}2`, nowMs: 9 })).toBeUndefined();
      expect(await devices.find({ userCodeSha256: `${slot}1`, nowMs: 10 })).toBeUndefined();
      expect(await devices.put({ record: second, nowMs: 10 })).toBe('stored');
      await devices.approve({ ...first, approvedBy: 'ada' });
      expect(await devices.find({ userCodeSha256: `${slot}2`, nowMs: 11 })).toEqual(second);
      for (const approvedBy of ['ada', 'mallory']) await devices.approve({ ...second, approvedBy });
      expect(await devices.find({ userCodeSha256: `${slot}2`, nowMs: 11 })).toEqual({
        ...second,
        approvedBy: 'ada',
      });
    });

    it('are tried five times in ten minutes, however many tries come at the same time', async () => {
      const [tenant, other] = [tenantName(), tenantName()];
      const count = (of: string, nowMs: number) => devices.count({ what: 'tries', of, nowMs });
      const tries = await Promise.all(Array.from({ length: 9 }, () => count(tenant, 1)));
      expect(tries.filter((each) => each === 'counted')).toHaveLength(5);
      expect(await count(other, 1)).toBe('counted');
      expect(await count(tenant, 10 * minute)).toBe('too-many');
      expect(await count(tenant, 10 * minute + 1)).toBe('counted');
      await devices.takeBackTry(tenant);
      // One that isn't there can't be taken back.
      await devices.takeBackTry(tenant);
      for (let times = 0; times < 5; times += 1) expect(await count(tenant, 10 * minute + 2)).toBe('counted');
      expect(await count(tenant, 10 * minute + 2)).toBe('too-many');
    });

    it('are counted for each address, and one network of IPv6 is one', async () => {
      const network = `2001:db8:${tenantName().replace(/\D/g, '').slice(-4) || 1}`;
      const count = (of: string, nowMs = 1) => devices.count({ what: 'starts', of, nowMs });
      const starts = await Promise.all(
        Array.from({ length: 103 }, (_, index) => count(`${network}:1::${index.toString(16)}`)),
      );
      expect(starts.filter((each) => each === 'counted')).toHaveLength(100);
      expect(await count(`${network}:2::1`)).toBe('counted');
      expect(await count(`${network}:1::1`, 10 * minute + 1)).toBe('counted');
    });
  });
}
