import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { Child } from '../child/child.ts';
import type { MemoryLimit } from './memory-limit.ts';
import type { FunctionApi, Start } from './run-function.ts';

const runner = fileURLToPath(new URL('../out/run-function.mjs', import.meta.url));

/** Builds the program that loads a bundle: plain JavaScript, because another Node may run it. */
export async function buildRunner(): Promise<void> {
  await build({
    entryPoints: [fileURLToPath(new URL('run-function.ts', import.meta.url))],
    outfile: runner,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
  });
}

interface StartInput {
  /** The Node that runs the function. */
  readonly node: string;
  readonly bundle: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly limit?: MemoryLimit;
}

/** A function in its own process. It is ready with the times of its start. */
export type FunctionProcess = Child<FunctionApi, Start>;

/**
 * Starts a function with a full core, as Lambda does.
 * @throws {ChildEndedError} when it does not survive its start.
 */
export function startFunction({ node, bundle, environment, limit }: StartInput): Promise<FunctionProcess> {
  const plain = { program: node, args: [runner, bundle] };
  const { program, args } = limit?.wrap(plain.program, plain.args) ?? plain;
  return Child.of(
    spawn(program, args, {
      // Nothing else of this process's environment: it could change what is measured.
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    }),
  );
}
