import { hash } from 'node:crypto';
import type { JsonObject } from '../aws-http/json-answers.ts';

/** What SQS says about a message that it has taken: the MD5 of the body, a proof that the answer is to this message. */
export function isTaken(answer: JsonObject, body: string): boolean {
  return answer['MD5OfMessageBody'] === hash('md5', body, 'hex');
}

/** The messages of a batch that SQS has not taken, whether the answer says so or not. */
export function notTaken<T extends { readonly Id: string; readonly MessageBody: string }>(
  answer: JsonObject,
  entries: readonly T[],
): T[] {
  const taken = new Map(listIn(answer, 'Successful').map((each) => [each['Id'], each]));
  return entries.filter(({ Id, MessageBody }) => !isTaken(taken.get(Id) ?? {}, MessageBody));
}

/** Why SQS has not taken some messages of a batch: each code once. */
export function failureCodes(answer: JsonObject): string {
  const codes = listIn(answer, 'Failed').map(({ Code }) => String(Code));
  return [...new Set(codes)].join(', ') || 'without a reason';
}

function listIn(answer: JsonObject, name: 'Successful' | 'Failed'): JsonObject[] {
  const list = answer[name];
  return Array.isArray(list) ? list.filter((each) => typeof each === 'object' && each !== null) : [];
}
