import { answer, UsageError } from './command.ts';

try {
  process.stdout.write(`${answer(process.argv.slice(2))}\n`);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
