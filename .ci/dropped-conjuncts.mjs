// Mistakes that StrykerJS does not make: dropped-conjuncts.mjs COPY LAYER FILE…
// `a && f(x)` becomes `a`, and `a || !b` becomes `a`, in a copy of the checkout. The tests of the layer run for each.
// Writes a report as StrykerJS does to COPY/report.json, which mutation-report.mjs reads.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';

const [copy = '', layer = '', ...files] = process.argv.slice(2);
const limitMs = 180_000;

/** Calls and negations that an expression hangs on, each with the expression that is left without it. */
function* dropped(/** @type {any} */ node) {
  if (!node || typeof node !== 'object') return;
  if (node.type === 'LogicalExpression' && node.operator !== '??') {
    const { left, right, operator } = node;
    // `!found || …` is mostly there for the compiler.
    const isMistake = (/** @type {any} */ part) =>
      isCallOrNegation(part) && !(operator === '||' && part.argument?.type === 'Identifier');
    if (isMistake(left)) yield { node, kept: right };
    if (isMistake(right)) yield { node, kept: left };
  }
  for (const child of Object.values(node))
    for (const each of Array.isArray(child) ? child : [child]) yield* dropped(each);
}

function isCallOrNegation(/** @type {any} */ node) {
  const { type, operator } = node;
  if (type === 'ParenthesizedExpression' || type === 'AwaitExpression')
    return isCallOrNegation(node.expression ?? node.argument);
  return type === 'CallExpression' || (type === 'UnaryExpression' && operator === '!');
}

/** As StrykerJS says where something is: lines from 1, columns from 1. */
function placeOf(/** @type {string} */ source, /** @type {number} */ offset) {
  const lines = source.slice(0, offset).split('\n');
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

function survives() {
  const args = ['vitest', 'run', '--config', 'vitest.mutation.config.ts', '--bail', '1'];
  const env = { ...process.env, MUTATED_LAYER: layer };
  return spawnSync('npx', args, { cwd: copy, env, timeout: limitMs, stdio: 'ignore' }).status === 0;
}

if (!survives()) throw new Error(`The tests of ${layer} fail without a mistake.`);
/** @type {Record<string, { source: string, mutants: unknown[] }>} */
const report = {};
for (const file of files) {
  const source = readFileSync(file, 'utf8');
  const mutants = [];
  for (const { node, kept } of dropped(parseSync(file, source).program)) {
    const replacement = source.slice(kept.start, kept.end);
    writeFileSync(join(copy, file), source.slice(0, node.start) + replacement + source.slice(node.end));
    const location = { start: placeOf(source, node.start), end: placeOf(source, node.end) };
    mutants.push({ location, replacement, status: survives() ? 'Survived' : 'Killed' });
  }
  writeFileSync(join(copy, file), source);
  report[file] = { source, mutants };
}
writeFileSync(join(copy, 'report.json'), JSON.stringify({ files: report }));
