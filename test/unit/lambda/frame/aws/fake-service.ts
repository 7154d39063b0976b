import { mockClient } from 'aws-sdk-client-mock';

/** A call as the service reads it. */
export interface ServiceCall {
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface ServiceAnswer {
  /** Default: 200. */
  readonly status?: number;
  /** What the service answers. Of an error: `name` and `message`. */
  readonly body: unknown;
}

interface AnyStub {
  on(command: object): { callsFake(serve: (input: ServiceCall['input']) => object): void };
}

/** A service in memory in the place of what a client of the SDK sends. */
export class FakeService {
  readonly calls: ServiceCall[] = [];
  answer: (call: ServiceCall) => ServiceAnswer;

  /** @param commands that the service knows, by operation. */
  constructor(client: object, commands: Readonly<Record<string, object>>, answer: FakeService['answer']) {
    this.answer = answer;
    const stub = mockClient(client as Parameters<typeof mockClient>[0]) as unknown as AnyStub;
    for (const [operation, command] of Object.entries(commands))
      stub.on(command).callsFake((input) => this.#serve({ operation, input }));
  }

  #serve(call: ServiceCall): object {
    this.calls.push(call);
    const { status = 200, body } = this.answer(call);
    if (status === 200) return body as object;
    throw Object.assign(new Error(), body, { $metadata: { httpStatusCode: status } });
  }
}
