import { type JsonObject, refusal } from '../../lambda/adapters/aws-http/json-answers.ts';
import { serviceError } from '../../lambda/adapters/aws-http/service-error.ts';
import type { Turns } from '../turns.ts';
import type { TableEngine } from './table-engine.ts';

/** Requests and answers of fewer bytes are read and written within a fraction of a millisecond. */
const smallBytesMax = 8 * 1024;

/**
 * What stands in for DynamoDB's service: the engine in this process, without a connection. So there is no port on which
 * others could reach the table.
 *
 * Large requests and answers are pieces of work of their own, with a pause between them and what the client does.
 */
export function tableCalls(engine: Pick<TableEngine, 'run'>, turns: Pick<Turns, 'pause'>) {
  /**
   * @throws {AwsServiceError} what DynamoDB would answer, such as a condition that failed.
   * @throws what the engine throws.
   */
  return async (operation: string, input: object): Promise<JsonObject> => {
    const text = JSON.stringify(input);
    if (text.length > smallBytesMax) await turns.pause();
    const { statusCode: status, body } = await engine.run(operation, JSON.parse(text));
    const answer = JSON.stringify(body);
    if (answer.length > smallBytesMax) await turns.pause();
    // A copy: nobody may change what the engine keeps.
    const output = JSON.parse(answer) as JsonObject;
    if (status === 200) return output;
    throw serviceError(refusal({ status, headers: {} }, output), { title: 'The table', operation });
  };
}
