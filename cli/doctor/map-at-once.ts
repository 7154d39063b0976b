import { requestsAtOnce } from './limits.ts';

/**
 * Runs a request for each item, {@link requestsAtOnce} at a time. Each error leaves one less at a time; the first is
 * thrown when all have ended.
 */
export async function mapAtOnce<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const worker = async () => {
    for (const item of waiting) await run(item);
  };
  const workers = Array.from({ length: Math.min(requestsAtOnce, items.length) }, worker);
  const [failed] = (await Promise.allSettled(workers)).filter((ended) => ended.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
