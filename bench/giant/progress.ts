import { formatNumber } from '../../cost/tables.ts';
import type { ListServerProcess } from '../list-server/process.ts';

const everyMs = 2_000;

/** Shows on standard error how far the listing is, until `end` is called. */
export function showProgress(server: ListServerProcess, keys: number): { end(): Promise<void> } {
  const startedMs = performance.now();
  let isOver = false;
  const run = async () => {
    while (!isOver) {
      await new Promise((resolve) => setTimeout(resolve, everyMs));
      const { requests } = await server.call('stats');
      const listed = Math.min(keys, requests * 1000);
      const seconds = (performance.now() - startedMs) / 1000;
      const left = formatNumber(Math.round((keys - listed) / (listed / seconds)));
      const rate = formatNumber(Math.round(listed / seconds));
      const share = ((listed / keys) * 100).toFixed(1);
      process.stderr.write(`\r${share} %, ${rate} keys/s, ${left} s left  `);
    }
    process.stderr.write('\n');
  };
  const running = run();
  return {
    end: () => {
      isOver = true;
      return running;
    },
  };
}
