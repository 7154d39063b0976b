import type { Context } from 'aws-lambda';
import { scanShardDeps } from '../compose.ts';
import { decodeShardRequest } from '../events/shard-request.ts';
import type { ShardAnswer } from '../ports/shard-scan.ts';
import { deployed } from '../runtime/deployed.ts';
import { warmUpScan } from '../runtime/warm-up.ts';
import type { Deps } from '../use-cases/deps.ts';
import { scanShard } from '../use-cases/scan/scan-shard.ts';

/** Time kept back from the function's limit, for the pages on their way and the answer. */
const reserveMs = 5_000;

/** Invoked by the function reconcile, which waits for the answer. */
export function create(deps: Pick<Deps, 'scan' | 'clock' | 'log' | 'invocations'>) {
  return async (event: unknown, context: Context): Promise<ShardAnswer> => {
    const request = decodeShardRequest(event);
    const ids = { correlationId: request?.correlationId, functionRequestId: context.awsRequestId };
    return deps.invocations.during(ids, async () => {
      // Reconcile then scans the shard itself.
      if (!request)
        throw new Error('The event is not a request to scan a shard, or is one of another version.');
      const leftMs = Math.max(1, context.getRemainingTimeInMillis() - reserveMs);
      const timeLimitMs = Math.min(request.timeLimitMs, leftMs);
      const answer = await scanShard(deps, { ...request, timeLimitMs });
      if (answer.kind === 'store unavailable') {
        const { prefix } = request;
        deps.log.warn('shard not scanned', { prefix, reason: answer.message });
      }
      return answer;
    });
  };
}

export const handler = await deployed(create, scanShardDeps, warmUpScan);
