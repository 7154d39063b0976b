import { setTimeout as sleep } from 'node:timers/promises';
import { askAtTerminal } from './prompt.ts';
import { runCli } from './run.ts';

// `… | head` closes the pipe early; that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

// The SDK warns of Node 20 at every command; package.json says which versions are right.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true';

const exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  nowMs: () => Date.now(),
  sleep: (durationMs) => sleep(durationMs),
  isTerminal: process.stdout.isTTY === true,
  ask: process.stdin.isTTY && process.stderr.isTTY ? askAtTerminal : undefined,
});
// A command may have set one itself.
if (exitCode !== 0) process.exitCode = exitCode;
