import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Call, ChildApi, Reply } from './serve.ts';

/** A child process ended before it answered, for example because it had too little memory. */
export class ChildEndedError extends Error {
  override readonly name = 'ChildEndedError';
}

/** The parent's side of a child process that calls `serve`. */
export class Child<Api extends ChildApi, Ready = undefined> {
  /** What the child passed to `serve`. */
  readonly ready: Ready;
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess, ready: Ready) {
    this.#process = process;
    this.ready = ready;
  }

  /**
   * Waits until the child serves.
   * @throws {ChildEndedError} when it ends before.
   */
  static async of<Api extends ChildApi, Ready = undefined>(
    process: ChildProcess,
  ): Promise<Child<Api, Ready>> {
    return new Child<Api, Ready>(process, (await nextValue(process)) as Ready);
  }

  /** Runs a TypeScript file of this project as a child. */
  static fork<Api extends ChildApi, Ready = undefined>(file: URL): Promise<Child<Api, Ready>> {
    return Child.of(fork(fileURLToPath(file), { execArgv: ['--import', 'tsx', '--no-warnings'] }));
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /**
   * Calls a function of the child. The next call must wait for the result.
   * @throws {ChildEndedError} when the child ends before it answers.
   */
  async call<Name extends keyof Api & string>(
    name: Name,
    ...args: Parameters<Api[Name]>
  ): Promise<Awaited<ReturnType<Api[Name]>>> {
    const value = nextValue(this.#process);
    this.#process.send({ name, args } satisfies Call);
    return (await value) as Awaited<ReturnType<Api[Name]>>;
  }

  /** Lets the child exit, and waits for it. */
  async end(): Promise<void> {
    const exited = once(this.#process, 'exit');
    this.#process.disconnect();
    await exited;
  }
}

function nextValue(process: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) =>
      reject(new ChildEndedError(`A child process ended before it answered (code ${code}).`));
    process.once('exit', ended);
    process.once('message', ({ value }: Reply) => {
      process.off('exit', ended);
      resolve(value);
    });
  });
}
