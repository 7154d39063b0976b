import type { Exchange, ExchangeInput } from '../../../../../lambda/adapters/aws-http/exchange.ts';

/** A call as a service of AWS's JSON protocol reads it. */
export interface ServiceCall {
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface ServiceAnswer {
  /** Default: 200. */
  readonly status?: number;
  readonly body: unknown;
}

export const credentials = () => ({ accessKeyId: 'key', secretAccessKey: 'secret' });

/** The network in front of a service in memory. */
export class FakeService implements Exchange {
  readonly calls: ServiceCall[] = [];
  answer: (call: ServiceCall) => ServiceAnswer;

  constructor(answer: (call: ServiceCall) => ServiceAnswer) {
    this.answer = answer;
  }

  async send<T>({ request, readerOf }: ExchangeInput<T>): Promise<T> {
    const { headers, body = '' } = request;
    const [, operation = ''] = (headers['x-amz-target'] ?? '').split('.');
    const call = { operation, input: JSON.parse(body) as ServiceCall['input'] };
    this.calls.push(call);
    const { status = 200, body: answer } = this.answer(call);
    const reader = readerOf({ status, headers: {} });
    reader.write(Buffer.from(JSON.stringify(answer)));
    return reader.end();
  }

  destroy(): void {}
}
