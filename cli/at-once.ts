import { type DownloadDeps, TransferError } from './transfer.ts';

/**
 * Transfers items, so many at a time. One that fails doesn't hold up the others, unless it's the last of so many in a row.
 *
 * @param input.itemsOf called once, with what ends the others when one has failed. An item is taken from it when somebody is
 * free. @param input.failuresMax in a row. Default: as many as are transferred at a time.
 * @throws what a transfer, or the last one of those in a row, failed with, once those beside it have ended; or the reason of
 * the stop.
 */
export async function transferEach<T>(
  { stop }: Pick<DownloadDeps, 'stop'>,
  input: {
    readonly atOnce: number;
    readonly failuresMax?: number;
    readonly itemsOf: (stop: AbortSignal) => AsyncIterator<T>;
    /** For the error. */
    readonly nameOf: (item: T) => string;
    readonly transfer: (item: T, stop: AbortSignal) => Promise<void>;
    /** One that failed, but not the last of those in a row. */
    readonly onFailed?: (item: T, error: TransferError) => void;
  },
): Promise<void> {
  const { atOnce, failuresMax = atOnce, nameOf, transfer, onFailed } = input;
  const failed = new AbortController();
  const all = AbortSignal.any([stop, failed.signal]);
  const items = input.itemsOf(all);
  let failedInRow = 0;
  const work = async () => {
    for (;;) {
      all.throwIfAborted();
      const next = await items.next();
      if (next.done) return;
      try {
        await transfer(next.value, all);
        failedInRow = 0;
      } catch (error) {
        if (!(error instanceof TransferError)) throw error;
        failedInRow += 1;
        if (failedInRow >= failuresMax)
          throw new TransferError(`${nameOf(next.value)}: ${error.message}`, { cause: error });
        onFailed?.(next.value, error);
      }
    }
  };
  const workers = Array.from({ length: atOnce }, () => work().catch((error: unknown) => failed.abort(error)));
  await Promise.all(workers);
  stop.throwIfAborted();
  // The first one that failed is the cause; the others were stopped.
  failed.signal.throwIfAborted();
}
