import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { Child } from '../child/child.ts';
import type { CpuQuota } from '../scan/cpu-quota.ts';
import type { MemoryLimit } from './memory-limit.ts';
import type { FunctionApi, Invoked, InvokeRequest, Start } from './run-function.ts';

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

export interface StartInput {
  /** The Node that runs the function. */
  readonly node: string;
  readonly bundle: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly limit?: MemoryLimit;
}

/** A function in its own process, started as Lambda starts it. */
export class FunctionProcess {
  readonly #child: Child<FunctionApi, Start>;

  private constructor(child: Child<FunctionApi, Start>) {
    this.#child = child;
  }

  /**
   * Starts the function with a full core, as Lambda does.
   * @throws {ChildEndedError} when it does not survive its start.
   */
  static async begin({ node, bundle, environment, limit }: StartInput): Promise<FunctionProcess> {
    const plain = { program: node, args: [runner, bundle] };
    const { program, args } = limit?.wrap(plain.program, plain.args) ?? plain;
    const child = spawn(program, args, {
      // Nothing else of this process's environment: it could change what is measured.
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    return new FunctionProcess(await Child.of(child));
  }

  get start(): Start {
    return this.#child.ready;
  }

  /** @throws {ChildEndedError} when the function does not survive the call. */
  invoke(request: InvokeRequest): Promise<Invoked> {
    return this.#child.call('invoke', request);
  }

  /** From now on the function has at most the CPU of the quota. */
  hold(quota: CpuQuota): () => void {
    return quota.hold(this.#child.pid);
  }

  end(): Promise<void> {
    return this.#child.end();
  }
}
