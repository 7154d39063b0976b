interface WhileRenewingInput<T> {
  readonly everyMs: number;
  /** If it throws, the work is given up. */
  readonly renew: () => Promise<void> | void;
  /** Ends the work from outside, with the signal's reason. */
  readonly stop: AbortController;
  readonly work: () => Promise<T>;
}

/** Does some work, and calls `renew` again and again until it is done. @throws what either of them throws. */
export async function whileRenewing<T>({ everyMs, renew, stop, work }: WhileRenewingInput<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const next = () => {
    timer = setTimeout(async () => {
      try {
        await renew();
        if (!isOver) next();
      } catch (error) {
        stop.abort(error);
      }
    }, everyMs);
  };
  const stopped = new Promise<never>((_resolve, reject) => {
    stop.signal.addEventListener('abort', () => reject(stop.signal.reason), { once: true });
  });
  next();
  try {
    return await Promise.race([work(), stopped]);
  } catch (error) {
    stop.abort(error);
    throw error;
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}
