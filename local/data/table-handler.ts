import { HttpResponse } from '@smithy/protocol-http';
import type { HttpRequest } from '@smithy/types';
import type { TableEngine } from './table-engine.ts';

/**
 * What the SDK's client sends its requests through: the engine in this process, without a connection. So there is no
 * port on which others could reach the table.
 */
export function tableHandler(engine: Pick<TableEngine, 'run'>) {
  return {
    /** @throws what the engine throws. The SDK does not repeat the request then. */
    async handle({ headers, body }: HttpRequest): Promise<{ response: HttpResponse }> {
      const operation = (headers['x-amz-target'] ?? '').split('.')[1] ?? '';
      const answer = await engine.run(operation, JSON.parse(textOf(body)));
      return {
        response: new HttpResponse({
          statusCode: answer.statusCode,
          headers: { 'content-type': 'application/x-amz-json-1.0' },
          body: Buffer.from(JSON.stringify(answer.body)),
        }),
      };
    },
  };
}

function textOf(body: unknown): string {
  return body instanceof Uint8Array ? new TextDecoder().decode(body) : String(body);
}
