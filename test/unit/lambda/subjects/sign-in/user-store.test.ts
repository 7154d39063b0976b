import { expect, it } from 'vitest';
import {
  createDynamoDbUsers,
  organizationVouches,
} from '../../../../../lambda/subjects/sign-in/user-store.ts';
import { memoryTable } from '../../../../support/memory/table.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

it('an organization that was never allowed leaves nothing in the table when somebody stops allowing it', async () => {
  const table = memoryTable();
  const users = createDynamoDbUsers(table);
  const organization = { tenant: 'acme', host: 'github', organizationId: '42' };
  expect(await users.disallow(organization)).toBeUndefined();
  expect([...table.store.all()]).toEqual([]);
});

it('an organization vouches for whom it let in until it is changed or removed', async () => {
  const table = memoryTable();
  const users = createDynamoDbUsers(table);
  const place = { tenant: 'acme', host: 'github', organizationId: '42' };
  const organization = {
    ...place,
    name: 'a',
    owners: 'manage',
    members: null,
    collaborators: false,
  } as const;
  const letIn = (sinceMs: number) =>
    tokenRecord('secret', {
      tenant: 'acme',
      hostUser: { id: 'github:1', login: 'grace' },
      allowedBy: { organizationId: '42', role: 'owner', sinceMs },
    });
  expect(await organizationVouches(table, letIn(1))).toBe(false);
  await users.allow({ ...organization, sinceMs: 1 });
  expect(await organizationVouches(table, letIn(1))).toBe(true);
  await users.allow({ ...organization, owners: 'read', sinceMs: 2 });
  expect(await organizationVouches(table, letIn(1))).toBe(false);
  expect(await organizationVouches(table, letIn(2))).toBe(true);
  await users.disallow(place);
  expect(await organizationVouches(table, letIn(2))).toBe(false);
});
