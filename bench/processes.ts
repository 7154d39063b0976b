import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { Cleanup } from '../local/start.ts';
import type { Message } from './serve.ts';

/** The parent's side of a child process that calls `serve`. */
export type Child = Awaited<ReturnType<typeof startChild>>;

/** Runs a bundle, and waits until it serves. @throws {Error} when it ends before. */
export async function startChild(
  program: string,
  options: { args: readonly string[]; node?: string; env?: NodeJS.ProcessEnv },
) {
  const { args, node = process.execPath, env = process.env } = options;
  const child = fork(program, args, {
    execPath: node,
    execArgv: ['--no-warnings'],
    env,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  const nextValue = async () => {
    const ended = exited.then(([code]) => {
      throw new Error(`A child process ended before it answered (code ${code}).`);
    });
    const [{ value }] = (await Promise.race([once(child, 'message'), ended])) as [Message];
    return value;
  };
  return {
    /** What the child passed to `serve`. */
    ready: await nextValue(),
    /** The next question must wait for the answer. @throws {Error} when the child ends before. */
    ask: (value: unknown): Promise<unknown> => {
      const answer = nextValue();
      child.send({ value } satisfies Message);
      return answer;
    },
    /** Lets the child exit, and waits for it. */
    end: async () => {
      child.disconnect();
      await exited;
    },
  };
}

/** This checkout, and another one if there is one beside it. What follows a name tells them apart. */
export const checkouts = (beside: string) => [
  { place: '', root: path.join(import.meta.dirname, '..') },
  ...(beside === '' ? [] : [{ place: ', beside', root: path.resolve(beside) }]),
];

/** Bundles a TypeScript file as functions are bundled, so that any Node can run it. @returns the bundle's path. */
export async function bundle(entry: string, folder: string): Promise<string> {
  const outfile = path.join(mkdtempSync(path.join(folder, 'bundle-')), 'main.mjs');
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    mainFields: ['module', 'main'],
    conditions: ['module'],
    banner: { js: "import{createRequire as r}from'node:module';const require=r(import.meta.url);" },
  });
  return outfile;
}

/** Does some work in a new folder, which is removed at last: after all that is added to the cleanup. */
export async function inFolder<T>(work: (folder: string, cleanup: Cleanup) => Promise<T>): Promise<T> {
  const cleanup = new Cleanup();
  const folder = mkdtempSync(path.join(tmpdir(), 'lfs-quota-bench-'));
  // Processes that were killed just now might still write: several tries.
  cleanup.add(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  try {
    return await work(folder, cleanup);
  } finally {
    await cleanup.run();
  }
}
