import { ownFolders } from '../../core/store/rules/own-folders.ts';
import type { SubjectSpec } from '../../frame/frame-spec.ts';

export const names = {
  adds: {
    management: {
      routes: [
        'GET /v1/tenants/{tenant}/repos/{repo}/names',
        'POST /v1/tenants/{tenant}/repos/{repo}/names',
        'PATCH /v1/tenants/{tenant}/repos/{repo}/names',
      ],
      own: { names: ['PutObject'] },
    },
  },
  ownScopes: {
    names: { below: `/${ownFolders.names}/*`, why: 'Names have a key for each repo, and both come and go.' },
  },
} as const satisfies SubjectSpec;
