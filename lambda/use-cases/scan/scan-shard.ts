import type { Clock } from '../../ports/clock.ts';
import { StoreUnavailableError } from '../../ports/object-store.ts';
import type { PathScan, PathScanOutcome } from '../../ports/path-scan.ts';
import type { ShardAnswer, ShardRequest } from '../../ports/shard-scan.ts';

/** Of the recent names as JSON. Lambda takes an answer of 6 MB, in which the names looked for have their place, too. */
const recentBytesMax = 4 * 1024 ** 2;

/**
 * Scans a shard for another function, which waits for the answer. It writes nothing: an answer that nobody waits for any
 * more does no harm.
 */
export async function scanShard(
  deps: { readonly scan: PathScan; readonly clock: Pick<Clock, 'nowMs'> },
  request: ShardRequest,
): Promise<ShardAnswer> {
  const { prefix, after, last, objectsExpected, recentSinceMs, recentMax, concurrency } = request;
  try {
    const outcome = await deps.scan.scan({
      prefix,
      resume: {
        prefix,
        ranges: [{ after, last }],
        storedBytes: 0,
        objectCount: 0,
        seen: [],
        requests: 0,
        isSequential: false,
        objectsExpected,
      },
      lookFor: new Set(request.lookFor),
      ...(recentSinceMs !== null && { recentSinceMs }),
      recentMax,
      concurrency,
      deadlineMs: deps.clock.nowMs() + request.timeLimitMs,
    });
    return answerOf(outcome);
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return { kind: 'store unavailable', message: error.message };
  }
}

function answerOf(outcome: PathScanOutcome): ShardAnswer {
  const { requests } = outcome;
  if (outcome.kind === 'unfinished') return { kind: 'unfinished', requests };
  const { storedBytes, objectCount, seen } = outcome;
  const recent = outcome.recent === 'too many' ? outcome.recent : withinBytes([...outcome.recent]);
  return { kind: 'done', storedBytes, objectCount, seen: [...seen], recent, requests };
}

function withinBytes(names: readonly string[]): readonly string[] | 'too many' {
  let bytes = 0;
  for (const name of names) bytes += 1 + Buffer.byteLength(JSON.stringify(name));
  return bytes > recentBytesMax ? 'too many' : names;
}
