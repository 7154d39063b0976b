import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';

type Bench = (print: (text: string) => void, options: readonly string[]) => Promise<void>;

/** By the name that `npm run bench -- NAME` takes. Each shows its options. docs/measured.md has the newest results. */
const benches: Readonly<Record<string, () => Promise<Bench>>> = {
  crowd: async () => (await import('./crowd/bench-crowd.ts')).benchCrowd,
  functions: async () => (await import('./functions/bench-functions.ts')).benchFunctions,
  scan: async () => (await import('./scan/bench-scan.ts')).benchScan,
};

// The SDK would warn about Node 20 in every process.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true';

// What ends this process ends the servers that it started.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const print = (text: string) => void process.stdout.write(`${text}\n`);
const [name = '', ...options] = process.argv.slice(2);
const load = benches[name];
if (!load) {
  process.stderr.write(`Which benchmark? npm run bench -- ${Object.keys(benches).join(' | ')}\n`);
  process.exit(2);
}
// The commit of the checkout. With `+`: something in it is changed.
const describe = [
  '-C',
  import.meta.dirname,
  'describe',
  '--always',
  '--abbrev=8',
  '--dirty=+',
  '--exclude=*',
];
const commit = execFileSync('git', describe, { encoding: 'utf8' }).trim();
const machine = `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}`;
print(`npm run bench -- ${[name, ...options].join(' ')}`.trimEnd());
print(`${new Date().toISOString().slice(0, 10)}, commit ${commit}, ${machine}\n`);
const run = await load();
await run(print, options);
