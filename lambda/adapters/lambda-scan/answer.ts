import * as z from 'zod';
import type { ShardAnswer, ShardRequest } from '../../ports/shard-scan.ts';

const count = z.int().min(0);
const name = z.string();

/** Strict: another version's answer may mean something that this one would leave out. */
const shardAnswer = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('done'),
    storedBytes: count,
    objectCount: count,
    seen: z.array(z.tuple([name, count])),
    recent: z.union([z.literal('too many'), z.array(name)]),
    requests: count,
  }),
  z.strictObject({ kind: z.literal('unfinished'), requests: count }),
  z.strictObject({ kind: z.literal('store unavailable'), message: z.string() }),
]) satisfies z.ZodType<ShardAnswer>;

/** @returns undefined if the text is no answer to the request. */
export function answerIn(payload: string, request: ShardRequest): ShardAnswer | undefined {
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch {
    return undefined;
  }
  const answer = shardAnswer.safeParse(value).data;
  if (answer?.kind !== 'done') return answer;
  const wanted = new Set(request.lookFor);
  const isOfRequest =
    answer.seen.every(([seen]) => wanted.has(seen)) && answer.seen.length <= answer.objectCount;
  return isOfRequest ? answer : undefined;
}
