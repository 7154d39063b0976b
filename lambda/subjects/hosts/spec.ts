import type { SubjectSpec } from '../../frame/frame-spec.ts';
import { pushes } from '../../frame/spec.ts';

export const hosts = {
  adds: {
    management: {
      routes: [
        'GET /v1/tenants/{tenant}/git-host',
        'PUT /v1/tenants/{tenant}/git-host',
        'DELETE /v1/tenants/{tenant}/git-host',
      ],
    },
    'asks for users': { items: [pushes('GRANT#*', 'MAPPED#*', 'LINK#*', 'PINNED#*')] },
  },
} as const satisfies SubjectSpec;
