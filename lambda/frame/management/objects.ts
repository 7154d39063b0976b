import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { objectKey, tenantPrefix } from '../../core/rules/names.ts';
import { fileReposOf, withoutEmptied } from '../access/files.ts';
import { json } from '../api/http.ts';
import { problem } from '../api/problems.ts';
import { encodeCursor, pageSizeDefault } from '../contract/fields.ts';
import { objectContract } from '../contract/objects.ts';
import { refuseBeyondRepos } from './access.ts';
import { operationsFor } from './operations.ts';
import { listStoredObjects } from './stored-objects.ts';

type Needs = Pick<CoreDeps, 'listing' | 'store'>;

export const objectOperations = operationsFor<Needs>()(objectContract, {
  /** What the store holds now, by repo and oid, a page at a time. */
  'GET /v1/tenants/{tenant}/objects': async (
    deps,
    { tenant: { tenant }, token, query: { limit = pageSizeDefault, cursor, repo } },
  ) => {
    if (cursor !== undefined && Buffer.byteLength(tenantPrefix(tenant) + cursor) > keyBytesMax)
      return problem('invalid-query', 'cursor: must be the nextCursor of the previous page.');
    const refusal = refuseBeyondRepos({ token }, repo);
    if (refusal) return refusal;
    const { objects, files, others, next } = await listStoredObjects(deps, {
      tenant,
      fileRepos: await fileReposOf(deps, { tenant, repo: repo ?? null }),
      pageSize: limit,
      ...(repo !== undefined && { repo }),
      ...(cursor !== undefined && { after: cursor }),
    });
    const shown = await withoutEmptied(
      (key) => deps.store.head(key),
      files,
      (file) => objectKey({ tenant, repo: file.repo, oid: file.name }),
    );
    return json(200, {
      objects,
      ...(shown.length > 0 && { files: shown }),
      others,
      nextCursor: next === null ? null : encodeCursor(next),
    });
  },
});

/** A store may refuse to list after a key that is longer than keys are. */
const keyBytesMax = 1024;
