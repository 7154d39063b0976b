import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Deps } from '../../use-cases/deps.ts';
import type { Response } from '../respond.ts';

export type ManagementDeps = Pick<
  Deps,
  'ledger' | 'tokens' | 'admin' | 'store' | 'listing' | 'queue' | 'clock' | 'ids' | 'log' | 'settings'
>;

/** One operation of the management API: checks access, decodes, calls a use case, answers. */
export type Operation = (deps: ManagementDeps, event: APIGatewayProxyEventV2) => Promise<Response>;
