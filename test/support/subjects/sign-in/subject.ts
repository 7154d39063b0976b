import { createDynamoDbUsers } from '../../../../lambda/subjects/sign-in/user-store.ts';
import { type TestedSubject, tenant } from '../../subject.ts';

export const signIn = {
  fill: {
    users: ({ users }, sinceMs) =>
      users.allow({
        tenant,
        host: 'github',
        organizationId: '1',
        name: 'a',
        owners: 'manage',
        members: null,
        collaborators: false,
        sinceMs,
      }),
  },
  kept: [
    {
      what: 'a sign-in that was not finished in time',
      by: ['lambda/subjects/sign-in/user-store.ts loginFields'],
      async write({ table, atMs, second }) {
        const login = { loginId: 'l', host: 'github', next: '#', addsOrganization: false, expiresAtMs: atMs };
        await createDynamoDbUsers(table).putLogin(login);
        return [{ pk: 'LOGIN#l', sk: 'LOGIN', end: second }];
      },
    },
  ],
} satisfies TestedSubject;
