import { writeSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { release, releaseText } from '../lambda/core/rules/release.ts';
import { alone } from './alone.ts';
import type { CliContext } from './context.ts';
import { CliError } from './errors.ts';

/** Asks on standard error, so that the question never gets into piped output. Ctrl-C and Ctrl-D answer ''. */
async function askAtTerminal(
  question: string,
  output: NodeJS.WritableStream = process.stderr,
): Promise<string> {
  const dialog = createInterface({ input: process.stdin, output, terminal: true });
  try {
    const ended = new Promise<string>((resolve) => dialog.once('close', () => resolve('')));
    // When the dialog is closed, some versions of Node reject the question and others never settle it.
    return await Promise.race([dialog.question(question).catch(() => ''), ended]);
  } finally {
    dialog.close();
  }
}

/** The same without showing what is typed. */
async function askSecretAtTerminal(question: string): Promise<string> {
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  return askAtTerminal('', silent).finally(() => process.stderr.write('\n'));
}

/** A token has some 50 bytes, and what git says to a helper less than this. */
const inputBytesMax = 65_536;

async function readInput(): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of process.stdin as AsyncIterable<Buffer>) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > inputBytesMax) break;
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** The entry point of the command line. bin/lfs-quota.js starts it, from here or from the bundle in dist/. */

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // `… | head` closes the pipe early; that is no failure.
  if (error.code === 'EPIPE') process.exit(0);
  process.stderr.write(`error: The output could not be written: ${error.message}.\n`);
  process.exit(1);
});

// The SDK would warn about Node 20 in every command; package.json says which versions are supported.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true';

// Ends as the signal would end it, but not in a line that is redrawn in place.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => end(signal));

/** Commands that do something of their own at a signal. */
let interruptListeners = 0;

try {
  const context: CliContext = {
    program: calledAs(process.argv[1] ?? ''),
    version: releaseText(release),
    env: process.env,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    nowMs: () => Date.now(),
    sleep: (durationMs) => sleep(durationMs),
    isTerminal: process.stdout.isTTY === true,
    columns: () => process.stdout.columns,
    errIsTerminal: process.stderr.isTTY === true,
    errColumns: () => process.stderr.columns,
    ask: process.stdin.isTTY && process.stderr.isTTY ? askAtTerminal : undefined,
    askSecret: process.stdin.isTTY && process.stderr.isTTY ? askSecretAtTerminal : undefined,
    input: process.stdin,
    readInput,
    self: calledLater(process.argv[1] ?? ''),
    onInterrupt,
  };
  const load = alone[process.argv.slice(2).join()];
  if (load) {
    // V8's young generation, which what is sent would fill, stays small, and the old one is collected before it has grown by
    // half.
    setFlagsFromString('--semi-space-growth-factor=1 --optimize-for-size');
    await (await load()).run(context);
  } else process.exitCode = await (await import('./program.ts')).runCli(process.argv.slice(2), context);
} catch (error) {
  // Node itself would print the line that threw, which is the whole bundle.
  const trace = error instanceof Error ? error.stack : String(error);
  const isExpected = error instanceof CliError;
  const text = isExpected ? `${error.message}\n${error.hint}` : `This is a bug in lfs-quota.\n${trace}`;
  process.stderr.write(`error: ${text}\n`);
  process.exitCode = 1;
}

function end(signal: NodeJS.Signals): void {
  if (interruptListeners > 0) return;
  if (process.stderr.isTTY && process.env['TERM'] !== 'dumb') writeSync(2, '\r\u001b[K');
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/** Without a listener, a signal ends the process: so does the second one. */
function onInterrupt(listener: () => void): () => void {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  let isListening = true;
  interruptListeners += 1;
  const release = () => {
    // After all listeners of this signal: the one that ends the process must not take it for the second one.
    if (isListening) setImmediate(() => (interruptListeners -= 1));
    isListening = false;
    for (const signal of signals) process.removeListener(signal, onSignal);
  };
  const onSignal = () => {
    release();
    listener();
  };
  for (const signal of signals) process.on(signal, onSignal);
  return release;
}

/** What the person typed, so that the commands in hints and in the help work for them as well. */
function calledAs(script: string): string {
  const { npm_command: command, npm_config_package: file } = process.env;
  if (command === 'exec') return file ? `npx --package ${quoted(file)} lfs-quota` : 'npx lfs-quota';
  if (path.basename(script) === 'lfs-quota') return 'lfs-quota';
  return quoted(script);
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`;
}

/** Git calls it from other folders, and with another PATH than a terminal's if it's not installed: npx has it elsewhere. */
function calledLater(script: string): readonly [string, ...string[]] {
  if (path.basename(script) === 'lfs-quota' && process.env['npm_command'] !== 'exec') return ['lfs-quota'];
  return [process.execPath, path.resolve(script)];
}
