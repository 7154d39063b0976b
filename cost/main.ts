import { printMonth } from './month-command.ts';
import { UsageError } from './options.ts';
import { printScan } from './scan-command.ts';

/** `npm run -s cost`: what a workload costs a month. `npm run -s cost -- scan`: what it takes to count giants. */

const args = process.argv.slice(2);
const print = (text: string) => void process.stdout.write(`${text}\n`);

try {
  if (args[0] === 'scan') printScan(args.slice(1), print);
  else printMonth(args, print);
} catch (error) {
  const isUsage = error instanceof UsageError || (error instanceof TypeError && 'code' in error);
  if (!isUsage) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
