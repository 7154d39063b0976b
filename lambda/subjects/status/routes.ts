import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { json } from '../../frame/api/http.ts';
import { operationsFor } from '../../frame/management/operations.ts';
import { statusContract } from './contract.ts';
import type { StatusPorts } from './ports.ts';
import { readStatus } from './status.ts';

type Needs = Pick<CoreDeps, 'listing'> & StatusPorts;

export const statusOperations = operationsFor<Needs>()(statusContract, {
  /** What does not answer is shown as such: the answer is 200 all the same. */
  'GET /v1/status': async (deps) => json(200, await readStatus(deps)),
});
