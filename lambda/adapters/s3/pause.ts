/** Waits. It ends early, without an error, if it is stopped or was before. */
export function pause(ms: number, stop?: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      stop?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, stop?.aborted ? 0 : ms);
    stop?.addEventListener('abort', end, { once: true });
  });
}
