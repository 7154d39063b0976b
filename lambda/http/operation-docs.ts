import type { RouteContract } from '../api/contract/contract.ts';
import type { RouteKey } from '../routes.ts';

export type OperationDocs = Partial<Readonly<Record<RouteKey, RouteContract>>>;
