import { ownFolders } from '../../core/store/rules/own-folders.ts';
import type { SubjectSpec } from '../../frame/frame-spec.ts';

const why = 'Garbage collection has keys of its own, by tenant and watch, and both come and go.';

export const gc = {
  adds: {
    management: {
      routes: [
        'GET /v1/tenants/{tenant}/repos/{repo}/gc',
        'POST /v1/tenants/{tenant}/repos/{repo}/gc',
        'DELETE /v1/tenants/{tenant}/repos/{repo}/gc',
        'POST /v1/tenants/{tenant}/repos/{repo}/gc/reachable-set',
        'POST /v1/tenants/{tenant}/repos/{repo}/gc/run',
      ],
      own: { 'reachable sets': ['PutObject'] },
    },
    reconcile: { own: { candidates: ['PutObject'] } },
  },
  ownScopes: {
    'reachable sets': { below: `/${ownFolders.gc}/*/*/keep-*`, why },
    candidates: { below: `/${ownFolders.gc}/*/*/*/candidates-*`, why },
  },
} as const satisfies SubjectSpec;
