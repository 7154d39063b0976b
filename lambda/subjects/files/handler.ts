import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { type HttpHandler, withMetrics } from '../../frame/aws/function.ts';
import { answering } from '../../frame/management/handler.ts';
import type { fileContract } from './contract.ts';
import { partsProver } from './part-proof.ts';
import { fileOperations } from './routes.ts';

const answer = answering<keyof typeof fileContract>()({ files: fileOperations });

/** Uploads, lists, downloads and deletes of files. */
export function create(
  deps: Omit<Parameters<typeof answer>[0], 'provesParts'> &
    Pick<CoreDeps, 'metrics'> & { readonly provesParts?: () => Promise<boolean> },
): HttpHandler {
  return withMetrics(deps.metrics, answer({ provesParts: partsProver(deps), ...deps }));
}
