import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { importsOf, type Rest, reachedFrom, removeSubjects, subjectsWith } from './remove-subject.ts';

/**
 * `npm run without -- SUBJECT…`: in a copy of the checkout, deletes the folders of a subject and its lines in the lists, and checks
 * what is left. Subjects that import it come off with it, and of a way in those that are only for it. `--all`: every subject. `--turn N`: the one of them whose turn it is.
 * `--only CHECK,…`: some of the checks. `--keep`: leaves the copy, and says where it is.
 */

/** Outside of a subject's folders, all of them in lists: of the product, and of the tests. Of each that comes off. */
const linesMax = { product: 12, tests: 6 };
const lists: readonly string[] = [
  'package.json',
  'cli/alone.ts',
  'cli/subjects.ts',
  'console/src/addresses.ts',
  'console/src/overview-parts.ts',
  'console/src/subjects.ts',
  'cost/subjects.ts',
  'console/src/ways-in.ts',
  'lambda/contract.ts',
  'lambda/repo-contract.ts',
  'lambda/subjects.ts',
  'lib/settings/subjects.ts',
  'local/compose.ts',
  'local/demo-samples.ts',
  'local/http-handlers.ts',
  'local/ports.ts',
  'local/queues.ts',
  'test/blackbox/subjects.ts',
  'test/contract/subjects.ts',
  'test/simulation/focuses.ts',
  'test/simulation/ports.ts',
  'test/simulation/subjects-code.ts',
  'test/simulation/subjects.ts',
  'test/support/memory/ports.ts',
  'test/support/subjects.ts',
];
/** A file a function lists what the function needs. */
const isList = (file: string) =>
  lists.includes(file) || /^lambda\/(functions|functions\/needs|lists)\/[\w-]+\.ts$/.test(file);
const isTest = ({ file }: { file: string }) => file.startsWith('test/');

const suite = 'test/embedded/blackbox.test.ts';
/** What Vitest loads before each test. */
const setup = 'test/support/fixed-seed.ts';
/** Each is a command that must succeed in the copy. */
const checks: Readonly<Record<string, readonly string[]>> = {
  types: ['npm', 'run', '-s', 'types'],
  unused: ['npx', 'knip'],
  synth: ['npx', 'cdk', 'synth', '--quiet', '--no-notices'],
  core: ['npx', 'vitest', 'run', '--project', 'unit', 'test/unit/lambda/core/', 'test/contract/'],
  blackbox: ['npx', 'vitest', 'run', '--project', 'embedded', suite],
  seeds: ['npm', 'run', '-s', 'simulate', '--', '--seeds', '100'],
};

interface Front {
  /** Subjects that nobody has a use for without it, though they don't import it. */
  readonly also: readonly string[];
  readonly checks: typeof checks;
}

/**
 * Ways in, by which most tests push. Without one, `test/` has only what the black-box suite imports, and the tests of the core that don't
 * push that way. Of the suite, the part of another way is run. Not checked: the suite's other parts and the simulator, whose tenants
 * push that way, and whether each export is used, as many are by the tests that are left out.
 */
const fronts: Readonly<Record<string, Front>> = {
  lfs: {
    also: ['gc'],
    checks: {
      types: checks['types'] ?? [],
      unused: ['npx', 'knip', '--include', 'files'],
      synth: checks['synth'] ?? [],
      core: checks['core'] ?? [],
      files: ['npx', 'vitest', 'run', '--project', 'embedded', suite, '-t', 'filesSubject'],
    },
  },
};
const checksOf = (subject: string) => fronts[subject]?.checks ?? checks;

const root = path.join(import.meta.dirname, '../..');
const comesOff = readdirSync(path.join(root, 'lambda/subjects')).sort();
const print = (line: string) => process.stdout.write(`${line}\n`);

/** What is in the checkout, committed or not. */
function filesOf(): string[] {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const listed = execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\0');
  const deleted = execFileSync('git', ['ls-files', '-z', '--deleted'], { cwd: root, encoding: 'utf8' });
  const missing = new Set(deleted.split('\0'));
  return listed.filter((file) => !missing.has(file));
}

/** The lines of package.json with what only a subject needed. */
function packagesOfNone(sources: ReadonlyMap<string, string>, { deleted, changed }: Rest) {
  const lines = readFileSync(path.join(root, 'package.json'), 'utf8').split('\n');
  const own = deleted.map((file) => sources.get(file)).join('\n');
  const gone = new Set(deleted);
  const left = [...sources]
    .map(([file, text]) => (gone.has(file) ? '' : (changed.get(file) ?? text)))
    .join('\n');
  const isImported = (name: string, text: string) =>
    ["from '", "import '", "import('"].some((before) =>
      ["'", '/'].some((after) => text.includes(before + name + after)),
    );
  const removed = lines.flatMap((text, index) => {
    const [, name] = /^ {4}"(@?[\w./-]+)": "\d[^"]*",?$/.exec(text) ?? [];
    const isOfNone = name !== undefined && isImported(name, own) && !isImported(name, left);
    return isOfNone ? [{ file: 'package.json', line: index + 1, text: text.trim() }] : [];
  });
  const isLeft = (_: string, index: number) => removed.every(({ line }) => line !== index + 1);
  return { removed, rest: lines.filter(isLeft).join('\n') };
}

/** Tests that neither the product nor the suite imports, nor those of the core that import nothing of what is gone. */
function unreachedTests(sources: ReadonlyMap<string, string>, { deleted, changed }: Rest): string[] {
  const inLists = [...changed].filter(([file]) => isList(file));
  const imports = importsOf(new Map([...sources, ...inLists]));
  const files = [...sources.keys()].filter((file) => !deleted.includes(file));
  const lost = reachedFrom(imports, deleted, { up: true });
  const core = files.filter((file) => /^test\/(unit\/lambda\/core|contract)\//.test(file) && !lost.has(file));
  const product = files.filter((file) => !isTest({ file }));
  const reached = reachedFrom(imports, [...product, setup, suite, ...core]);
  return files.filter((file) => isTest({ file }) && /\.tsx?$/.test(file) && !reached.has(file));
}

/** Makes the copy, and prints each line that it lacks. @returns whether these are few, and in lists. */
function copyWithout(subject: string, copy: string): boolean {
  const files = filesOf();
  const sources = new Map(
    files.map((file) => [
      file,
      /\.(ts|tsx|mjs)$/.test(file) ? readFileSync(path.join(root, file), 'utf8') : '',
    ]),
  );
  const along = subjectsWith(sources, [subject, ...(fronts[subject]?.also ?? [])]);
  if (along.length > 1) print(`${along.join(', ')} come off together.`);
  const found = removeSubjects(sources, along);
  const { deleted, changed } = found;
  const packages = packagesOfNone(sources, found);
  const gone = new Set([...deleted, ...(subject in fronts ? unreachedTests(sources, found) : [])]);
  const removed = [...found.removed, ...packages.removed].filter(({ file }) => !gone.has(file));
  for (const file of files) {
    if (gone.has(file)) continue;
    const to = path.join(copy, file);
    mkdirSync(path.dirname(to), { recursive: true });
    const text = file === 'package.json' ? packages.rest : changed.get(file);
    if (text === undefined) cpSync(path.join(root, file), to, { verbatimSymlinks: true });
    else writeFileSync(to, text);
  }
  // What only its own file needs now may stay exported.
  const knip = JSON.parse(readFileSync(path.join(root, 'knip.json'), 'utf8')) as object;
  writeFileSync(path.join(copy, 'knip.json'), JSON.stringify({ ...knip, ignoreExportsUsedInFile: true }));
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  for (const { file, line, text } of removed)
    print(`  ${file}:${line}  ${text}${isList(file) ? '' : '  (not a list)'}`);
  const tests = removed.filter(isTest).length;
  const product = removed.length - tests;
  // What is of two subjects counts as one more.
  const both = new Set(
    deleted.map((file) => /^lambda\/subjects\/[\w-]+\/(?!rules\/)[\w-]+\//.exec(file)?.[0]),
  );
  const count = along.length + [...both].filter((folder) => folder !== undefined).length;
  const most = { product: count * linesMax.product, tests: count * linesMax.tests };
  const isFew = product <= most.product && tests <= most.tests;
  const passes = deleted.length > 0 && isFew && removed.every(({ file }) => isList(file));
  const at = (lines: number, most: number) => `${lines} (${most} at most)`;
  say(
    subject,
    'lines',
    passes,
    `${deleted.length} files; lines of lists: ${at(product, most.product)}, and of the tests' ${at(tests, most.tests)}`,
  );
  return passes;
}

function say(subject: string, check: string, passes: boolean, of: string): void {
  print(`without ${subject}: ${check.padEnd(8)} ${passes ? 'passed' : 'FAILED'}  ${of}`);
}

function run(subject: string, check: string, copy: string): boolean {
  const [command = '', ...args] = checksOf(subject)[check] ?? [];
  const beganMs = Date.now();
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: copy,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  // If a pattern takes no test, Vitest succeeds.
  const hasRun = args[0] !== 'vitest' || /^ *Tests .*\d passed/m.test(stripVTControlCharacters(stdout));
  const passes = status === 0 && hasRun;
  if (!passes) print(`${stdout}${stderr}`);
  say(subject, check, passes, `${Math.round((Date.now() - beganMs) / 1000)} s`);
  return passes;
}

function comesOffWhole(subject: string, only: readonly string[], keep: boolean): boolean {
  const copy = mkdtempSync(path.join(tmpdir(), `without-${subject}-`));
  try {
    const few = copyWithout(subject, copy);
    return only.map((check) => run(subject, check, copy)).every((passes) => passes) && few;
  } finally {
    if (keep) print(copy);
    else rmSync(copy, { recursive: true });
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    turn: { type: 'string' },
    only: { type: 'string', default: '' },
    keep: { type: 'boolean', default: false },
  },
});

function subjects(): readonly string[] {
  if (values.all) return comesOff;
  if (values.turn === undefined) return positionals;
  return comesOff.slice(Number(values.turn) % comesOff.length).slice(0, 1);
}

const asked = values.only.split(',').filter((check) => check !== '');
const only = (subject: string) =>
  Object.keys(checksOf(subject)).filter((check) => asked.length === 0 || asked.includes(check));
const known = [checks, ...Object.values(fronts).map((front) => front.checks), { lines: [] }].flatMap((each) =>
  Object.keys(each),
);
const wrong = [
  ...subjects().filter((subject) => !comesOff.includes(subject)),
  ...asked.filter((check) => !known.includes(check)),
];
if (wrong.length > 0 || (subjects().length === 0 && !values.all && values.turn === undefined)) {
  process.stderr.write(
    `without: takes one of ${comesOff.join(', ')}, and --only takes some of ${[...new Set(known)].join()}\n`,
  );
  process.exit(2);
}
const passed = subjects().map((subject) => comesOffWhole(subject, only(subject), values.keep));
process.exitCode = passed.every((each) => each) ? 0 : 1;
