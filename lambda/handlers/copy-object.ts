import { deployed, markHeapAtOnce } from '../aws/deployed.ts';
import { consumeEach } from '../aws/function.ts';
import { copyDeps } from '../compositions/copy-object.ts';
import { decodeCopyMessage } from '../downloads/messages.ts';
import type { DownloadPorts } from '../downloads/ports.ts';
import type { CoreDeps } from '../ledger/core-deps.ts';
import type { Redelivery } from '../ledger/rules/reconcile-policy.ts';
import type { FunctionPorts } from '../rules/clock-and-log.ts';

/** Time kept back from the function's limit. */
const reserveMs = 10_000;
/** From an attempt that failed to the next. */
const retryMs = 30_000;
const attemptsMax = 3;
/** A source may not keep others waiting: beside a minute, it has as long as so many bytes take each millisecond. */
const leastPace = { spareMs: 60_000, bytesPerMs: 500 };

type CopyDeps = Pick<CoreDeps, 'clock' | 'log'> &
  Pick<DownloadPorts, 'copier' | 'copies'> &
  FunctionPorts & {
    readonly redelivery: Redelivery;
  };

/** The consumer of copies of what another host has. It notes that an object is copied, or why nobody tries any more. */
export function create(deps: CopyDeps) {
  const { copier, copies, clock, log } = deps;
  return consumeEach(deps, decodeCopyMessage, async (message, { receiveCount: attempt, context, again }) => {
    const { tenant, repo, oid, sizeBytes, from, to, untilMs } = message;
    const place = { tenant, repo, oid };
    const paceMs = Math.ceil(leastPace.spareMs + sizeBytes / leastPace.bytesPerMs);
    const stop = AbortSignal.timeout(
      Math.min(paceMs, Math.max(0, context.getRemainingTimeInMillis() - reserveMs)),
    );
    const outcome =
      clock.nowMs() >= untilMs
        ? ({ kind: 'refused', reason: 'expired' } as const)
        : await copier.copy({ from, to, sizeBytes, stop });
    const failed = outcome.kind === 'copied' ? undefined : outcome.reason;
    if (failed === undefined) log.info('object copied', { ...place, sizeBytes });
    else log.warn('object not copied', { ...place, sizeBytes, reason: failed, attempt });
    if (outcome.kind === 'failed' && attempt < attemptsMax) return again(retryMs);
    await copies.end({ ...place, failed });
    return true;
  });
}

export const handler = await deployed(create, copyDeps, markHeapAtOnce);
