import type { SubjectSpec } from '../../frame/frame-spec.ts';

export const status = {
  adds: { management: { routes: ['GET /v1/status'] } },
} as const satisfies SubjectSpec;
