import type { SubjectSpec } from '../../frame/frame-spec.ts';
import { on } from '../../frame/spec.ts';

export const invitations = {
  adds: {
    management: {
      routes: [
        'GET /v1/tenants/{tenant}/invitations',
        'POST /v1/tenants/{tenant}/invitations',
        'DELETE /v1/tenants/{tenant}/invitations/{invitationId}',
        'POST /v1/tenants/{tenant}/device',
        'POST /v1/tenants/{tenant}/console-links',
      ],
    },
    signIn: {
      routes: ['POST /v1/invitations/accept', 'POST /v1/console-links/open', 'POST /v1/device'],
      items: [on(['INVITATION#*', 'DEVICE#*'], 'PutItem', 'UpdateItem')],
    },
  },
} as const satisfies SubjectSpec;
