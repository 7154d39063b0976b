import type { ChildProcess } from 'node:child_process';
import type { ShardAnswer } from '../../lambda/ports/shard-scan.ts';
import { FakeLambda, type InvocationFate } from '../../test/support/fake-lambda.ts';
import type { Random } from '../../test/support/random.ts';
import { Child, ChildEndedError } from '../child/child.ts';
import type { WorkerApi } from './worker-process.ts';

interface Worker {
  readonly process: ChildProcess;
  readonly child: Child<WorkerApi>;
}

export interface WorkerPoolInput {
  readonly start: () => ChildProcess;
  /** Functions at a time. Lambda has no room for more. */
  readonly workers: number;
  /** The share of invocations that come to nothing. */
  readonly failing: number;
  readonly random: Random;
}

/** Of the invocations that come to nothing. The others' processes are killed at any time. */
const shareOfErrors = 0.4;
const shareOfSilence = 0.1;

/** Lambda, with one process for each function that runs at the same time. */
export class WorkerPool {
  readonly #input: WorkerPoolInput;
  readonly #idle: Worker[] = [];
  readonly #all = new Set<Worker>();
  readonly #lambda = new FakeLambda(({ event }) => this.#invoke(event));
  #running = 0;
  /** How long the latest shard took that did not come to nothing. */
  #shardMs = 1_000;
  /** Of what was answered. */
  requests = 0;
  killed = 0;
  errors = 0;
  silent = 0;

  constructor(input: WorkerPoolInput) {
    this.#input = input;
  }

  get invocations(): number {
    return this.#lambda.invocations.length;
  }

  /** @returns the URL of its API. All processes have started. */
  async listen(): Promise<string> {
    const { workers } = this.#input;
    this.#idle.push(...(await Promise.all(Array.from({ length: workers }, () => this.#start()))));
    return this.#lambda.listen();
  }

  async end(): Promise<void> {
    await this.#lambda.close();
    for (const { child } of this.#all) await child.end();
  }

  async #start(): Promise<Worker> {
    const process = this.#input.start();
    const worker = { process, child: await Child.of<WorkerApi>(process) };
    this.#all.add(worker);
    return worker;
  }

  async #invoke(event: unknown): Promise<InvocationFate> {
    if (this.#running === this.#input.workers)
      return { kind: 'refusal', status: 429, code: 'TooManyRequestsException' };
    this.#running += 1;
    try {
      return await this.#run(event);
    } finally {
      this.#running -= 1;
    }
  }

  async #run(event: unknown): Promise<InvocationFate> {
    const { random, failing } = this.#input;
    const isFailing = random.chance(failing);
    const how = random.next();
    const worker = this.#idle.pop() ?? (await this.#start());
    const isKilled = isFailing && how >= shareOfErrors + shareOfSilence;
    const killAfterMs = random.next() * this.#shardMs;
    const timer = isKilled ? setTimeout(() => worker.process.kill('SIGKILL'), killAfterMs) : undefined;
    const startedMs = performance.now();
    let answer: ShardAnswer;
    try {
      answer = await worker.child.call('invoke', event);
    } catch (error) {
      if (!isKilled || !(error instanceof ChildEndedError)) throw error;
      this.killed += 1;
      this.#all.delete(worker);
      return { kind: 'function error', message: 'Runtime exited with error: signal: killed' };
    }
    clearTimeout(timer);
    // It was faster than its killer, who may have come nevertheless.
    if (worker.process.killed) this.#all.delete(worker);
    else this.#idle.push(worker);
    if (isFailing && how < shareOfErrors) {
      this.errors += 1;
      return { kind: 'function error', message: 'made up' };
    }
    if (isFailing && how < shareOfErrors + shareOfSilence) {
      this.silent += 1;
      return { kind: 'silence' };
    }
    this.#shardMs = performance.now() - startedMs;
    if (answer.kind === 'done') this.requests += answer.requests;
    return { kind: 'answer', payload: answer };
  }
}
