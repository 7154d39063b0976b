import type { SubjectSpec } from '../../frame/frame-spec.ts';
import { counts, pushes } from '../../frame/spec.ts';

export const history = {
  adds: {
    management: { routes: ['GET /v1/tenants/{tenant}/history'] },
    lfsBatch: { items: [pushes('HISTORY#*')] },
    getSubscription: { items: [counts('HISTORY#*')] },
  },
} as const satisfies SubjectSpec;
