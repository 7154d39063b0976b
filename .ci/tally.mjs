// Adds up what the lanes' test reports counted: tally.mjs NAME:EXIT:SECONDS:CPU:REPORT…
// REPORT is the JSON file of a lane that runs tests. It is empty for a lane that runs none.
// Prints a table, then the line `N passed, N failed`. Exits 1 if anything failed.
import { readFileSync } from 'node:fs';

const rows = process.argv.slice(2).map((lane) => {
  const [name = '', exit, seconds = '', cpu = '', path = ''] = lane.split(':');
  const report = read(path);
  const passed = report?.numPassedTests ?? 0;
  const failed = report?.numFailedTests ?? 0;
  // A lane can fail without a failed test: a linter, a file that does not load, a crash before the report is
  // written, tests that were all skipped.
  const isBroken = exit !== '0' || report?.success === false || (path !== '' && passed === 0);
  const skipped = report?.numPendingTests ?? 0;
  return { name, seconds, cpu, passed, failed: isBroken ? Math.max(1, failed) : failed, skipped };
});

/** @param {string} path */
function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    // There is none, or its lane was killed while it wrote.
    return undefined;
  }
}

const print = (/** @type {(string | number)[]} */ cells) =>
  process.stdout.write(
    `${cells
      .map((cell) => String(cell).padEnd(9))
      .join('')
      .trimEnd()}\n`,
  );
process.stdout.write('\n');
print(['lane', 'seconds', 'cpu', 'passed', 'failed', 'skipped']);
for (const row of rows) print([row.name, row.seconds, row.cpu, row.passed, row.failed, row.skipped]);

const passed = rows.reduce((sum, row) => sum + row.passed, 0);
const failed = rows.reduce((sum, row) => sum + row.failed, 0);
process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
