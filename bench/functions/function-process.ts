import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { CpuQuota } from '../scan/cpu-quota.ts';
import type { MemoryLimit } from './memory-limit.ts';
import type { Invoked, InvokeRequest, Start } from './run-function.ts';

const runner = fileURLToPath(new URL('../out/run-function.mjs', import.meta.url));

/** Makes the program that loads a bundle: plain JavaScript, as the Node that runs it may be another one. */
export async function buildRunner(): Promise<void> {
  await build({
    entryPoints: [fileURLToPath(new URL('run-function.ts', import.meta.url))],
    outfile: runner,
    format: 'esm',
    target: 'node20',
  });
}

/** It ended before it answered: for want of memory, most likely. */
export class ProcessEndedError extends Error {
  override readonly name = 'ProcessEndedError';
}

export interface StartInput {
  /** The Node that runs it. */
  readonly node: string;
  readonly bundle: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly limit?: MemoryLimit;
}

/** A function in a process of its own, started as Lambda starts it. */
export class FunctionProcess {
  readonly start: Start;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, start: Start) {
    this.#child = child;
    this.start = start;
  }

  /** Begins it with all of a core, as Lambda does. */
  static async begin({ node, bundle, environment, limit }: StartInput): Promise<FunctionProcess> {
    const plain = { program: node, args: [runner, bundle] };
    const { program, args } = limit?.wrap(plain.program, plain.args) ?? plain;
    const child = spawn(program, args, {
      // Nothing of this process' own: a setting of it must not change what is measured.
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    return new FunctionProcess(child, (await answerOf(child)) as Start);
  }

  async invoke(request: InvokeRequest): Promise<Invoked> {
    const answer = answerOf(this.#child);
    this.#child.send(request);
    return (await answer) as Invoked;
  }

  /** From now on it has no more CPU than the quota gives. */
  hold(quota: CpuQuota): () => void {
    return quota.hold(this.#child.pid ?? 0);
  }

  async end(): Promise<void> {
    const gone = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.disconnect();
    await gone;
  }
}

function answerOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const gone = (code: number | null) =>
      reject(new Error(`A function's process ended early (code ${code}).`));
    child.once('exit', gone);
    child.once('message', (message) => {
      child.off('exit', gone);
      resolve(message);
    });
  });
}
