import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { formatNumber, formatTable } from '../../cost/tables.ts';
import { Child } from '../child/child.ts';
import { type HeavyCase, type HeavyFigures, heavyCases } from './cases.ts';

/** The heap that a function of 512 MB can have beside Node itself. */
const heapMb = 400;

/** What one reconcile of a tenant with very many open claims takes, in a process of its own with a limited heap. */
export async function benchHeavy(print: (text: string) => void): Promise<unknown> {
  const results: (HeavyCase & HeavyFigures)[] = [];
  for (const shape of heavyCases) {
    const file = fileURLToPath(new URL('reconcile-child.ts', import.meta.url));
    const execArgv = ['--import', 'tsx', '--no-warnings', `--max-old-space-size=${heapMb}`];
    const child = await Child.of<{ run: (shape: HeavyCase) => HeavyFigures }>(fork(file, { execArgv }));
    results.push({ ...shape, ...(await child.call('run', shape)) });
    await child.end();
  }
  const rows = results.map(({ name, claims, peakMb, seconds }) => [
    name,
    formatNumber(claims),
    peakMb.toFixed(0),
    seconds.toFixed(1),
  ]);
  print(`${formatTable(['reservations', 'claims', 'peak MB', 'seconds'], rows)}\n`);
  return results;
}
