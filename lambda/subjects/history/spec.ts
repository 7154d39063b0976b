import type { SubjectSpec } from '../../frame/frame-spec.ts';
import { counts, pushes } from '../../frame/spec.ts';

export const history = {
  adds: {
    management: {
      routes: [
        'GET /v1/tenants/{tenant}/history',
        'GET /v1/usage',
        'POST /v1/tenants/{tenant}/usage/corrections',
      ],
    },
    admits: { items: [pushes('HISTORY#*')] },
    getSubscription: { items: [counts('HISTORY#*')] },
  },
} as const satisfies SubjectSpec;
