import { expect, it } from 'vitest';
import { mergeMessages, newMessage } from '../../../../local/background/queue-message.ts';

const message = (reason: 'verify' | 'schedule' | 'refusal') =>
  newMessage({ tenant: 'acme', reason, full: false }, { nowMs: 1, messageId: reason });

// A recount of the schedule is dropped when it is deferred: a trigger must not become one of those.
it.each([
  ['verify', 'schedule', 'verify'],
  ['schedule', 'verify', 'verify'],
  ['refusal', 'schedule', 'refusal'],
  ['refusal', 'verify', 'refusal'],
  ['verify', 'refusal', 'refusal'],
  ['schedule', 'schedule', 'schedule'],
] as const)('%s and then %s are one message for %s', (older, newer, reason) => {
  expect(mergeMessages(message(older), message(newer)).reason).toBe(reason);
});
