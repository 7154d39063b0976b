import * as z from 'zod';
import { placeOf, type StoreChange } from '../domain/store-change.ts';

/** One record of an S3 event notification (AWS: "Event message structure"). */
const storeEvent = z.object({
  eventName: z.string(),
  eventTime: z.iso.datetime(),
  s3: z.object({ object: z.object({ key: z.string(), size: z.int().nonnegative().optional() }) }),
});

/** S3 sends messages with events. When notifications are set up, it also sends one test message without any. */
const storeEventMessage = z.union([
  z.object({ Records: z.array(storeEvent) }),
  z.object({ Event: z.literal('s3:TestEvent') }),
]);

/**
 * The changes in tenants' repos that a message reports. Keys outside of any repo are left out.
 *
 * @param keyOf the key of what is stored under one. undefined: nobody is to know of it.
 * @throws {SyntaxError | ZodError | URIError} if the message is not from S3.
 */
export function decodeStoreEvents(
  body: string,
  keyOf: (storedKey: string) => string | undefined,
): StoreChange[] {
  const message = storeEventMessage.parse(JSON.parse(body));
  if (!('Records' in message)) return [];
  return message.Records.flatMap(({ eventName, eventTime, s3 }): StoreChange[] => {
    const key = keyOf(decodeKey(s3.object.key));
    const place = key === undefined ? undefined : placeOf(key);
    if (!place) return [];
    const where = { ...place, atMs: Date.parse(eventTime) };
    if (!eventName.startsWith('ObjectCreated:')) return [{ ...where, kind: 'removed' }];
    return [{ ...where, kind: 'created', sizeBytes: s3.object.size ?? 0 }];
  });
}

/** S3 encodes keys in events like HTML forms: a space is a plus sign. */
function decodeKey(key: string): string {
  return decodeURIComponent(key.replaceAll('+', ' '));
}
