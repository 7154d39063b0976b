import type { CoreDeps } from '../../../core/ledger/core-deps.ts';
import type { FunctionPorts } from '../../../core/rules/clock-and-log.ts';
import { consumerOf, shortPause } from '../../../core/rules/jobs.ts';
import type { DownloadPorts } from '../ports.ts';
import type { Copier } from './copier.ts';
import { copyMessage } from './messages.ts';

/** From an attempt that failed to the next. */
const retryMs = 30_000;
const attemptsMax = 3;
/** A source may not keep others waiting: beside a minute, it has as long as so many bytes take each millisecond. */
const leastPace = { spareMs: 60_000, bytesPerMs: 500 };

type CopyDeps = Pick<CoreDeps, 'clock' | 'log'> &
  Pick<DownloadPorts, 'copies'> & { readonly copier: Copier } & FunctionPorts;

/** Copies what another host has. It notes that an object is copied, or why nobody tries any more. */
export function create(deps: CopyDeps) {
  const { copier, copies, clock, log } = deps;
  return consumerOf(deps, {
    schema: copyMessage,
    reserveMs: 10_000,
    pause: shortPause,
    step: async (
      { tenant, repo, oid, sizeBytes, from, to, untilMs },
      { receiveCount: attempt, deadlineMs },
    ) => {
      const place = { tenant, repo, oid };
      const nowMs = clock.nowMs();
      const paceMs = Math.ceil(leastPace.spareMs + sizeBytes / leastPace.bytesPerMs);
      const stop = AbortSignal.timeout(Math.min(paceMs, Math.max(0, deadlineMs - nowMs)));
      const outcome =
        nowMs >= untilMs
          ? ({ kind: 'refused', reason: 'expired' } as const)
          : await copier.copy({ from, to, sizeBytes, stop });
      const failed = outcome.kind === 'copied' ? undefined : outcome.reason;
      if (failed === undefined) log.info('object copied', { ...place, sizeBytes });
      else log.warn('object not copied', { ...place, sizeBytes, reason: failed, attempt });
      if (outcome.kind === 'failed' && attempt < attemptsMax) return { againMs: retryMs };
      await copies.end({ ...place, failed });
      return 'done';
    },
    // The message has secrets.
    failed: ({ tenant, repo, oid }, { error }) =>
      log.error('object not copied', { tenant, repo, oid, error }),
  });
}
