import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach } from 'vitest';

export const commandLine = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
/** What `npm start` runs. */
export const npmStart = [commandLine, 'serve', '--demo'];
/** A server of one machine. */
export const serve = [commandLine, 'serve'];

/** A process of `serve`. */
interface ChildStack {
  readonly process: ChildProcess;
  readonly output: { out: string; err: string };
  /** Resolves with the address in the line `ready`. Rejects if the process ends before. */
  ready(): Promise<string>;
  /** Resolves when the process has ended. */
  ended(): Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }>;
}

/** Packs `lfs-quota` as it is installed, which starts in a third of the time. @returns its program. */
export async function packedInto(folder: string): Promise<string> {
  const pack = fileURLToPath(new URL('../../bin/pack.ts', import.meta.url));
  await promisify(execFile)(process.execPath, ['--import', 'tsx', pack, folder]);
  return join(folder, 'lfs-quota.js');
}

/** A function that starts such processes. The ones still running are killed after each test. */
export function useChildStacks(
  command: readonly string[] = npmStart,
): (args: readonly string[], env?: Record<string, string>, packed?: readonly string[]) => ChildStack {
  const spawned: ChildProcess[] = [];
  afterEach(async () => {
    for (const child of spawned.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
  return (args, env = {}, packed = undefined) => {
    const program = packed ?? ['--import', 'tsx', ...command];
    const child = spawn(process.execPath, [...program, ...args], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    spawned.push(child);
    return watch(child);
  };
}

function watch(child: ChildProcess): ChildStack {
  const output = { out: '', err: '' };
  child.stdout?.on('data', (chunk) => {
    output.out += String(chunk);
  });
  child.stderr?.on('data', (chunk) => {
    output.err += String(chunk);
  });
  const closed = once(child, 'close').then(() => ({ exitCode: child.exitCode, signal: child.signalCode }));
  return {
    process: child,
    output,
    ready: () =>
      new Promise((resolve, reject) => {
        const look = () => {
          const url = /^ready (http:\S+)$/m.exec(output.out)?.[1];
          if (url !== undefined) resolve(url);
        };
        child.stdout?.on('data', look);
        look();
        void closed.then(() => reject(new Error(`It ended before it was ready: ${output.err}`)));
      }),
    ended: () => closed,
  };
}

/** The token of the tenant `demo`, which the first start keeps in a file for git. */
export function demoTokenIn(dataDir: string): string {
  const text = readFileSync(join(dataDir, 'demo.git-credentials'), 'utf8');
  return new URL(text.trim()).password;
}
