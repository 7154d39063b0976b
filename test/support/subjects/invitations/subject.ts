import { expect } from 'vitest';
import { createDynamoDbDevices } from '../../../../lambda/subjects/invitations/device-store.ts';
import { createDynamoDbInvitations } from '../../../../lambda/subjects/invitations/invitation-store.ts';
import { invitationsMax } from '../../../../lambda/subjects/invitations/rules/invitations.ts';
import { minute, repo, type TestedSubject, tenant } from '../../subject.ts';

export const invitations = {
  fill: {
    devices: ({ devices }, nowMs) => devices.count({ what: 'tries', of: tenant, nowMs }),
    invitations: ({ invitations }, createdAtMs) =>
      invitations.put({
        tenant,
        invitationId: 'i',
        secretSha256: 's',
        scope: 'write',
        repos: [repo],
        user: null,
        lifetimeMs: minute,
        inviterId: null,
        inviter: 'ada',
        createdAtMs,
        expiresAtMs: createdAtMs + minute,
      }),
  },
  limits: { 'A tenant': { 'open invitations': invitationsMax } },
  kept: [
    {
      what: 'an invitation once it is over, and one that is accepted ten minutes later',
      by: ['invitationFields', 'accept'].map(
        (name) => `lambda/subjects/invitations/invitation-store.ts ${name}`,
      ),
      async write({ table, tenant, atMs, second }) {
        const invitations = createDynamoDbInvitations(table);
        const key = { tenant, invitationId: 'i' };
        const record = {
          ...key,
          secretSha256: '',
          scope: 'read',
          repos: null,
          user: null,
          lifetimeMs: 1,
          inviterId: null,
          inviter: null,
          createdAtMs: 1,
          expiresAtMs: atMs,
        } as const;
        await invitations.put(record);
        await invitations.accept({ ...key, accepted: { atMs, keySha256: '', user: null } });
        const place = { pk: 'INVITATION#acme', sk: 'i', end: second };
        return [place, { ...place, end: second + 10 * 60 }];
      },
    },
    {
      what: 'a command line that waits once it is over, and what is counted of them when its time is over',
      by: ['deviceFields', 'count'].map((name) => `lambda/subjects/invitations/device-store.ts ${name}`),
      async write({ table, tenant, atMs, second, day }) {
        const devices = createDynamoDbDevices(table);
        const record = { userCodeSha256: 'abcdef', tokenId: 't', secretSha256: '', machine: 'm' };
        await devices.put({ record: { ...record, expiresAtMs: atMs }, nowMs: 1 });
        for (const what of ['tries', 'starts', 'approvals'] as const)
          await devices.count({ what, of: tenant, nowMs: atMs });
        return [
          { pk: 'DEVICE#abcd', sk: 'DEVICE', end: second },
          { pk: 'DEVICE#acme', sk: 'TRIES', end: second + 10 * 60 },
          // A slot of many addresses: as many as there are, no more is stored.
          { pk: expect.stringMatching(/^DEVICE#[0-9a-f]{4}$/), sk: 'STARTS', end: second + 10 * 60 },
          { pk: 'DEVICE#acme', sk: 'APPROVALS', end: second + 90 * day },
        ];
      },
    },
  ],
} satisfies TestedSubject;
