import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { tenantPrefix } from '../../core/rules/names.ts';
import { json } from '../api/http.ts';
import { problem } from '../api/problems.ts';
import { encodeCursor, iso, pageSizeDefault } from '../contract/fields.ts';
import { objectContract } from '../contract/objects.ts';
import { refuseBeyondRepos } from './access.ts';
import { operationsFor } from './operations.ts';
import { listStoredObjects } from './stored-objects.ts';

type Needs = Pick<CoreDeps, 'listing'>;

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
    const { objects, others, next } = await listStoredObjects(deps, {
      tenant,
      pageSize: limit,
      ...(repo !== undefined && { repo }),
      ...(cursor !== undefined && { after: cursor }),
    });
    return json(200, {
      objects: objects.map(({ lastModifiedMs, ...object }) => ({
        ...object,
        storedAt: lastModifiedMs === undefined ? null : iso(lastModifiedMs),
      })),
      others: [...others].map(([name, sums]) => ({ repo: name, ...sums })),
      nextCursor: next === null ? null : encodeCursor(next),
    });
  },
});

/** A store may refuse to list after a key that is longer than keys are. */
const keyBytesMax = 1024;
