import type { SubjectSpec } from '../../frame/frame-spec.ts';
import { on } from '../../frame/spec.ts';

export const signIn = {
  adds: {
    management: {
      routes: [
        'GET /v1/sign-in',
        'GET /v1/tenants/{tenant}/users',
        'DELETE /v1/tenants/{tenant}/users/{userId}',
        'PUT /v1/tenants/{tenant}/organizations',
        'DELETE /v1/tenants/{tenant}/organizations',
      ],
    },
    signIn: {
      routes: ['POST /v1/sign-in', 'POST /v1/sign-in/finish'],
      items: [on(['LOGIN#*'], 'PutItem', 'UpdateItem'), on(['LOGIN#*'], 'DeleteItem')],
      secrets: ['sign-in apps'],
    },
  },
} as const satisfies SubjectSpec;
