import { expect, it } from 'vitest';
import { createDynamoDbUsers } from '../../../../../lambda/subjects/sign-in/user-store.ts';
import { memoryTable } from '../../../../support/memory/table.ts';

it('an organization that was never allowed leaves nothing in the table when somebody stops allowing it', async () => {
  const table = memoryTable();
  const users = createDynamoDbUsers(table);
  const organization = { tenant: 'acme', host: 'github', organizationId: '42' };
  expect(await users.disallow(organization)).toBeUndefined();
  expect([...table.store.all()]).toEqual([]);
});
