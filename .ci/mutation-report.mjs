// What survived in the reports of StrykerJS: mutation-report.mjs REPORT…, from the project's root.
// Prints the score of each file, then each mistake that no test noticed. Exits 1 if .ci/mutation-survivors.json doesn't
// explain one of them, or if one of its entries doesn't match exactly one place in the code as it is now.
import { existsSync, readFileSync } from 'node:fs';

/**
 * A mistake that no test can notice. `in`: code around `original`, if `original` isn't unique in the file. Any white
 * space in the code is a single space here.
 * @typedef {{ file: string, in?: string, original: string, replacement: string, why: string }} Explained
 */

const read = (/** @type {string} */ path) => JSON.parse(readFileSync(path, 'utf8'));
const print = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);
const oneLine = (/** @type {string} */ text) => text.replaceAll(/\s+/g, ' ');

/** Each offset of a part in a text. */
function offsetsOf(/** @type {string} */ text, /** @type {string} */ part) {
  const offsets = [];
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) offsets.push(at);
  return offsets;
}

/** The offsets in `oneLine(source)` that an entry matches. */
function placesOf(
  /** @type {string} */ source,
  /** @type {Explained} */ { original, in: around = original },
) {
  const inside = offsetsOf(around, original);
  return offsetsOf(oneLine(source), around).flatMap((place) => inside.map((offset) => place + offset));
}

/** Where a mistake is: its offset in `oneLine(source)`, and the text it replaced. Lines and columns begin at 1. */
function placeOf(/** @type {string} */ source, /** @type {any} */ { start, end }) {
  const lines = source.split('\n');
  const offsetOf = (/** @type {{ line: number, column: number }} */ { line, column }) =>
    lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0) + column - 1;
  return {
    offset: oneLine(source.slice(0, offsetOf(start))).length,
    original: oneLine(source.slice(offsetOf(start), offsetOf(end))),
  };
}

/** @type {Explained[]} */
const explained = read('.ci/mutation-survivors.json');
let wrong = 0;
for (const one of explained) {
  const count = existsSync(one.file) ? placesOf(readFileSync(one.file, 'utf8'), one).length : 0;
  if (count === 1) continue;
  wrong += 1;
  print(`  ${one.file}  ${one.in ?? one.original}  ${count === 0 ? 'is gone' : `matches ${count} places`}`);
}
if (wrong > 0) print(`${wrong} entries of .ci/mutation-survivors.json don't match exactly one place.`);

const files = process.argv
  .slice(2)
  .filter((path) => existsSync(path))
  .flatMap((path) => Object.entries(read(path).files));
let unexplained = 0;
print('caught  all   file');
for (const [file, { source, mutants }] of files) {
  const valid = mutants.filter(({ status }) => !['Ignored', 'CompileError', 'RuntimeError'].includes(status));
  if (valid.length === 0) continue;
  const caught = valid.filter(({ status }) => status === 'Killed' || status === 'Timeout');
  print(`${String(caught.length).padEnd(7)} ${String(valid.length).padEnd(5)} ${file}`);
  const known = explained.filter((one) => one.file === file);
  for (const { location, replacement = '', status } of valid) {
    if (status !== 'Survived' && status !== 'NoCoverage') continue;
    const { offset, original } = placeOf(source, location);
    const isKnown = known.some(
      (one) =>
        one.original === original &&
        one.replacement === oneLine(replacement).trim() &&
        placesOf(source, one).includes(offset),
    );
    if (isKnown) continue;
    unexplained += 1;
    print(`  ${file}:${location.start.line}  ${original}  →  ${oneLine(replacement)}`);
  }
}
print(unexplained === 0 ? 'Nothing survived that is not explained.' : `${unexplained} survived.`);
process.exitCode = unexplained === 0 && wrong === 0 ? 0 : 1;
