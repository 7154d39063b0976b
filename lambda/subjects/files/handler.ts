import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { type HttpHandler, withMetrics } from '../../frame/aws/function.ts';
import { answering } from '../../frame/management/handler.ts';
import type { fileContract } from './contract.ts';
import { fileOperations } from './routes.ts';

const answer = answering<keyof typeof fileContract>()({ files: fileOperations });

/** Uploads, lists, downloads and deletes of files. */
export function create(deps: Parameters<typeof answer>[0] & Pick<CoreDeps, 'metrics'>): HttpHandler {
  return withMetrics(deps.metrics, answer(deps));
}
