import { ownFolders } from '../../core/store/rules/own-folders.ts';
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
    refresh: {
      own: { 'usage files': ['PutObject', 'DeleteObject'] },
      bucket: ['ListBucket'],
      storeOnlyWith: 'usageFiles',
    },
    admits: { items: [pushes('HISTORY#*')] },
    getSubscription: { items: [counts('HISTORY#*')] },
  },
  ownScopes: {
    'usage files': { below: `/${ownFolders.usage}/*`, why: 'Each hour has files of its own, by its time.' },
  },
} as const satisfies SubjectSpec;
