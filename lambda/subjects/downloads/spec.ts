import type { SubjectSpec } from '../../frame/frame-spec.ts';
import { pushes } from '../../frame/spec.ts';

export const downloads = {
  adds: {
    management: { routes: ['GET /v1/tenants/{tenant}/downloads'] },
    offers: { items: [pushes('DOWNLOADS#*')] },
  },
} as const satisfies SubjectSpec;
