import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { benches, helpOf } from './benches.ts';

// The SDK would warn about Node 20 in every process.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true';

// All that is pushed passes the doors in this process: without this, V8 marks its heap most of the time.
setFlagsFromString('--heap-growing-percent=400');

// What ends this process ends the servers that it started.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const print = (text: string) => void process.stdout.write(`${text}\n`);
const [name = '', ...options] = process.argv.slice(2);
const bench = benches[name];
if (!bench) {
  process.stderr.write(`Which benchmark? npm run bench -- ${Object.keys(benches).join(' | ')}\n`);
  process.exit(2);
}
if (options.some((option) => option === '--help' || option === '-h')) {
  print(helpOf(bench));
  process.exit(0);
}
const command = `npm run bench -- ${[name, ...options].join(' ')}`.trimEnd();
const date = new Date().toISOString().slice(0, 10);
const commit = commitOf(fileURLToPath(new URL('../', import.meta.url)));
print(`${command}\n${date}, ${commit}, ${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}\n`);
const run = await bench.load();
await run(print, options);

/** The commit of a checkout. With `+`: something in it is changed. */
function commitOf(checkout: string): string {
  try {
    const args = ['-C', checkout, 'describe', '--always', '--abbrev=8', '--dirty=+', '--exclude=*'];
    return `commit ${execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()}`;
  } catch {
    return 'no commit';
  }
}
