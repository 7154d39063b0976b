// Adds up what the lanes' vitest reports counted: tally.mjs REPORTS_FOLDER NAME:EXIT:SECONDS…
// Prints a table, then `N passed, N failed` alone; exits 1 where anything failed.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder = '.', ...lanes] = process.argv.slice(2);
const rows = lanes.map((lane) => {
  const [name = '', exit, seconds = ''] = lane.split(':');
  const path = join(folder, `${name}.json`);
  const report = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
  const counted = report?.numFailedTests ?? 0;
  // A lane can fail without a failed test: a file that does not load, a linter, a crash before the report.
  const broken = exit !== '0' || report?.success === false;
  return {
    name,
    seconds,
    passed: report?.numPassedTests ?? 0,
    failed: broken ? Math.max(1, counted) : counted,
    skipped: report?.numPendingTests ?? 0,
  };
});

const print = (/** @type {(string | number)[]} */ cells) =>
  process.stdout.write(
    `${cells
      .map((cell) => String(cell).padEnd(9))
      .join('')
      .trimEnd()}\n`,
  );
process.stdout.write('\n');
print(['lane', 'seconds', 'passed', 'failed', 'skipped']);
for (const row of rows) print([row.name, row.seconds, row.passed, row.failed, row.skipped]);

const passed = rows.reduce((sum, row) => sum + row.passed, 0);
let failed = rows.reduce((sum, row) => sum + row.failed, 0);
if (passed === 0 && failed === 0) failed = 1;
process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
