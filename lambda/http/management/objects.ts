import { tenantPrefix } from '../../domain/names.ts';
import { listStoredObjects } from '../../use-cases/downloads/list-stored-objects.ts';
import { problem } from '../problems.ts';
import { json } from '../respond.ts';
import { readerAccess } from './access.ts';
import { encodeCursor } from './cursor.ts';
import { noBody, operation } from './operation.ts';
import { objectQuery, pageSizeDefault } from './requests.ts';

/** A store may refuse to list after a key that is longer than keys are. */
const keyBytesMax = 1024;

/** What the store holds now, by repo and oid, a page at a time. */
export const listObjects = operation(
  { access: readerAccess, query: objectQuery, body: noBody },
  async (deps, { tenant: { tenant }, query: { limit = pageSizeDefault, cursor, repo } }) => {
    if (cursor !== undefined && Buffer.byteLength(tenantPrefix(tenant) + cursor) > keyBytesMax)
      return problem('invalid-query', 'cursor: must be the nextCursor of the page before.');
    const { objects, next } = await listStoredObjects(deps, {
      tenant,
      pageSize: limit,
      ...(repo !== undefined && { repo }),
      ...(cursor !== undefined && { after: cursor }),
    });
    return json(200, { objects, nextCursor: next === null ? null : encodeCursor(next) });
  },
);
