import { noQuery } from '../../../api/contract/fields.ts';
import { json } from '../../../api/http.ts';
import { adminAccess } from '../../../api/management/access.ts';
import { readStatus as readStatusUseCase } from '../../../use-cases/status/read-status.ts';
import { noBody, type Operations, operation } from '../operation.ts';
import { statusBody } from './bodies.ts';

/** What does not answer is shown as such: the answer is 200 all the same. */
const readStatus = operation({ access: adminAccess, query: noQuery, body: noBody }, async (deps) =>
  json(200, statusBody(await readStatusUseCase(deps))),
);

export const statusOperations = {
  'GET /v1/status': readStatus,
} satisfies Operations;
