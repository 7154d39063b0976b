// What survived in the reports of StrykerJS: mutation-report.mjs REPORT…
// Prints the score of each file, then each mistake that no test noticed. Exits 1 if one of them is not explained in
// mutation-survivors.json.
import { existsSync, readFileSync } from 'node:fs';

const read = (/** @type {string | URL} */ path) => JSON.parse(readFileSync(path, 'utf8'));
/** @type {{ file: string, line?: string, original: string, replacement: string, why: string }[]} */
const explained = read(new URL('mutation-survivors.json', import.meta.url));

const files = process.argv
  .slice(2)
  .filter((path) => existsSync(path))
  .flatMap((path) => Object.entries(read(path).files));
const print = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);
const oneLine = (/** @type {string} */ text) => text.replaceAll(/\s+/g, ' ').trim();

/** The text that a mistake replaced. Lines and columns of a report begin at 1. */
function originalOf(/** @type {string} */ source, /** @type {any} */ { start, end }) {
  const lines = source.split('\n').slice(start.line - 1, end.line);
  const last = lines.length - 1;
  lines[last] = (lines[last] ?? '').slice(0, end.column - 1);
  lines[0] = (lines[0] ?? '').slice(start.column - 1);
  return oneLine(lines.join('\n'));
}

let unexplained = 0;
print('caught  all   file');
for (const [file, { source, mutants }] of files) {
  const valid = mutants.filter(({ status }) => !['Ignored', 'CompileError', 'RuntimeError'].includes(status));
  if (valid.length === 0) continue;
  const caught = valid.filter(({ status }) => status === 'Killed' || status === 'Timeout');
  print(`${String(caught.length).padEnd(7)} ${String(valid.length).padEnd(5)} ${file}`);
  for (const { location, replacement = '', status } of valid) {
    if (status !== 'Survived' && status !== 'NoCoverage') continue;
    const original = originalOf(source, location);
    const line = source.split('\n')[location.start.line - 1].trim();
    const known = explained.find(
      (one) =>
        one.file === file &&
        one.original === original &&
        one.replacement === oneLine(replacement) &&
        (one.line ?? line) === line,
    );
    if (known) continue;
    unexplained += 1;
    print(`  ${file}:${location.start.line}  ${original}  →  ${oneLine(replacement)}`);
  }
}
print(unexplained === 0 ? 'Nothing survived that is not explained.' : `${unexplained} survived.`);
process.exitCode = unexplained === 0 ? 0 : 1;
