import { HttpResponse } from '@smithy/protocol-http';
import type { HttpRequest } from '@smithy/types';
import type { Turns } from '../turns.ts';
import type { TableEngine } from './table-engine.ts';

/** Requests and answers of fewer bytes are read and written within a fraction of a millisecond. */
const smallBytesMax = 8 * 1024;

/**
 * What the SDK's client sends its requests through: the engine in this process, without a connection. So there is no
 * port on which others could reach the table.
 *
 * Large requests and answers are pieces of work of their own, with a pause between them and what the client does.
 */
export function tableHandler(engine: Pick<TableEngine, 'run'>, turns: Pick<Turns, 'pause'>) {
  return {
    /** @throws what the engine throws. The SDK does not repeat the request then. */
    async handle({ headers, body }: HttpRequest): Promise<{ response: HttpResponse }> {
      const operation = (headers['x-amz-target'] ?? '').split('.')[1] ?? '';
      const text = textOf(body);
      if (text.length > smallBytesMax) await turns.pause();
      const answer = await engine.run(operation, JSON.parse(text));
      const answerBody = Buffer.from(JSON.stringify(answer.body));
      if (answerBody.length > smallBytesMax) await turns.pause();
      return {
        response: new HttpResponse({
          statusCode: answer.statusCode,
          headers: { 'content-type': 'application/x-amz-json-1.0' },
          body: answerBody,
        }),
      };
    },
  };
}

function textOf(body: unknown): string {
  return body instanceof Uint8Array ? new TextDecoder().decode(body) : String(body);
}
