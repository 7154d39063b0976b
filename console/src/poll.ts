import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

/**
 * Runs something again and again while the page is seen, and at once when it is seen again.
 *
 * @param run returns after how many ms it is to run again. null: not any more.
 * @param key another one begins anew.
 * @returns runs it now.
 */
export function usePoll(run: () => Promise<number | null>, key: string): () => void {
  const latest = useRef(run);
  latest.current = run;
  const kick = useRef<() => void>(() => {});
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    let isRunning = false;
    const go = async () => {
      clearTimeout(timer);
      if (isOver || isRunning || document.hidden) return;
      isRunning = true;
      const waitMs = await latest.current();
      isRunning = false;
      if (!isOver && waitMs !== null) timer = setTimeout(() => void go(), waitMs);
    };
    kick.current = () => void go();
    const onSeen = () => void go();
    document.addEventListener('visibilitychange', onSeen);
    void go();
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onSeen);
    };
  }, [key]);
  return useCallback(() => kick.current(), []);
}

/** The time, which goes on. */
export function useNow(stepMs: number): number {
  const [nowMs, setNowMs] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNowMs(Date.now());
    }, stepMs);
    return () => clearInterval(timer);
  }, [stepMs]);
  return nowMs;
}
