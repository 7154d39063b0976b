import type { TableClient } from '../../lambda/core/table/table.ts';

type Operation = Parameters<TableClient['send']>[0];

/** What a table answers to one operation: the given answers in turn, and then always the last one. */
class Answers {
  readonly #once: object[] = [];
  #always: object | undefined;

  resolves(output: object): this {
    this.#always = output;
    return this;
  }

  resolvesOnce(output: object): this {
    this.#once.push(output);
    return this;
  }

  next(): object | undefined {
    return this.#once.shift() ?? this.#always;
  }
}

/** A table that answers what a test tells it, and keeps what it was asked. */
export class FakeTable implements TableClient {
  readonly #answers = new Map<Operation, Answers>();
  readonly #failures: Error[] = [];
  #inputs: object[] = [];

  on(operation: Operation): Answers {
    const answers = this.#answers.get(operation) ?? new Answers();
    this.#answers.set(operation, answers);
    return answers;
  }

  /** The next request fails, whatever it asks. */
  rejectsOnce(error: Error): this {
    this.#failures.push(error);
    return this;
  }

  /** The input of every request, in order. */
  asked(): Record<string, unknown>[] {
    return this.#inputs as Record<string, unknown>[];
  }

  resetHistory(): void {
    this.#inputs = [];
  }

  reset(): void {
    this.resetHistory();
    this.#answers.clear();
    this.#failures.length = 0;
  }

  async send(operation: Operation, input: object): Promise<never> {
    this.#inputs.push(input);
    const failure = this.#failures.shift();
    if (failure) throw failure;
    const output = this.#answers.get(operation)?.next();
    if (output === undefined) throw new Error(`The test gives no answer to ${operation}.`);
    return output as never;
  }
}
