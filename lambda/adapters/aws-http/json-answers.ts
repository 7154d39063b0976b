import { AnswerError, headerOf, MalformedAnswerError, TextReader } from './answers.ts';
import type { AnswerHead, AnswerReader } from './exchange.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** More of what a service says about an error is not kept. */
const messageCharactersMax = 300;

/**
 * Reads an answer in AWS's JSON protocol. An operation without output may answer with an empty body.
 *
 * Specification: smithy.io/2.0/aws/protocols/aws-json-1_0-protocol.html.
 */
export function jsonReader(head: AnswerHead, bytesMax: number): AnswerReader<JsonObject> {
  return new TextReader(bytesMax, (text) => {
    const isSuccess = head.status >= 200 && head.status < 300;
    const body = text === '' ? {} : objectIn(text);
    if (!isSuccess) throw refusal(head, body ?? {});
    if (body === undefined) throw new MalformedAnswerError('The answer is no JSON object.');
    return body;
  });
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** The error that an answer without success means. Its body need not have the fields of one. */
export function refusal(head: AnswerHead, body: JsonObject): AnswerError {
  const code = codeIn(headerOf(head, 'x-amzn-errortype') ?? body['__type']);
  const message = messageIn(body['message'] ?? body['Message']);
  return new AnswerError({ status: head.status, code, message, head });
}

/** The name in `com.amazonaws.sqs#QueueDoesNotExist` or `QueueDoesNotExist:http://…`. */
function codeIn(type: unknown): string {
  return typeof type === 'string' ? (/^(?:[^#]*#)?(\w+)/.exec(type)?.[1] ?? 'Unknown') : 'Unknown';
}

/**
 * The first line, without URLs. To a wrong signature AWS answers with what it expected in further lines: all headers,
 * the session token included.
 */
function messageIn(text: unknown): string {
  const [line = ''] = typeof text === 'string' ? text.split('\n', 1) : [];
  const shown = line.replaceAll(/https?:\/\/\S+/g, '(URL)').slice(0, messageCharactersMax);
  return shown || 'it gave no reason.';
}
