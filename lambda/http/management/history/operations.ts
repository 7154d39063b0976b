import { readHistory } from '../../../use-cases/history/read-history.ts';
import { json } from '../../respond.ts';
import { readerAccess, seesRepo } from '../access.ts';
import { noBody, type Operations, operation } from '../operation.ts';
import { historyBody } from './bodies.ts';
import { historyQuery } from './requests.ts';

const showHistory = operation(
  { access: readerAccess, query: historyQuery, body: noBody },
  async (deps, { tenant, token, query }) => {
    const history = await readHistory(deps, { tenant, ...query });
    return json(
      200,
      historyBody(tenant, history, (repo) => seesRepo({ token }, repo)),
    );
  },
);

export const historyOperations = {
  'GET /v1/tenants/{tenant}/history': showHistory,
} satisfies Operations;
