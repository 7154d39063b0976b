import { deployed, markHeapAtOnce } from '../aws/deployed.ts';
import { consumeEach } from '../aws/function.ts';
import { copyDeps } from '../compose.ts';
import type { Deps } from '../deps.ts';
import { copyObject, decodeCopyMessage } from '../downloads/copies.ts';
import type { Redelivery } from '../ledger/rules/reconcile-policy.ts';

/** Time kept back from the function's limit. */
const reserveMs = 10_000;
/** From an attempt that failed to the next. */
const retryMs = 30_000;

type CopyDeps = Pick<Deps, 'copier' | 'copies' | 'clock' | 'log' | 'invocations'> & {
  readonly redelivery: Redelivery;
};

/** The consumer of copies of what another host has. */
export function create(deps: CopyDeps) {
  return consumeEach(deps, decodeCopyMessage, async (message, { receiveCount: attempt, context, again }) => {
    const stop = AbortSignal.timeout(Math.max(0, context.getRemainingTimeInMillis() - reserveMs));
    return (await copyObject(deps, { message, attempt, stop })) || again(retryMs);
  });
}

export const handler = await deployed(create, copyDeps, markHeapAtOnce);
