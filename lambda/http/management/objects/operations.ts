import { encodeCursor, iso, pageSizeDefault } from '../../../api/contract/fields.ts';
import { json } from '../../../api/http.ts';
import { readerAccess, refuseBeyondRepos } from '../../../api/management/access.ts';
import { problem } from '../../../api/problems.ts';
import { tenantPrefix } from '../../../domain/names.ts';
import { listStoredObjects } from '../../../use-cases/downloads/list-stored-objects.ts';
import { noBody, type Operations, operation } from '../operation.ts';
import { objectQuery } from './requests.ts';

/** A store may refuse to list after a key that is longer than keys are. */
const keyBytesMax = 1024;

/** What the store holds now, by repo and oid, a page at a time. */
const listObjects = operation(
  { access: readerAccess, query: objectQuery, body: noBody },
  async (deps, { tenant: { tenant }, token, query: { limit = pageSizeDefault, cursor, repo } }) => {
    if (cursor !== undefined && Buffer.byteLength(tenantPrefix(tenant) + cursor) > keyBytesMax)
      return problem('invalid-query', 'cursor: must be the nextCursor of the page before.');
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
);

export const objectOperations = {
  'GET /v1/tenants/{tenant}/objects': listObjects,
} satisfies Operations;
