import type { Settings } from '../../lambda/domain/settings.ts';
import { S3Error } from './s3-error.ts';

/** How long a PUT may go on after its URL has expired. */
export type UploadTime = Pick<Settings, 'putGraceMs' | 'putMinBytesPerSecond'>;

/** The longest delay of a timer in ms. A longer one would end at once. */
const longestTimer = 2 ** 31 - 1;

/**
 * When a PUT by a presigned URL must have ended. It is before its reservation is dead (`deadAtMs` in
 * lambda/domain/reservation.ts), because nobody counts what is stored after that.
 */
export function uploadDeadlineMs(
  upload: { readonly urlExpiresAtMs: number; readonly sizeBytes: number },
  { putGraceMs, putMinBytesPerSecond }: UploadTime,
): number {
  return upload.urlExpiresAtMs + putGraceMs + Math.ceil((upload.sizeBytes / putMinBytesPerSecond) * 1000);
}

export function tooLateError(): S3Error {
  return new S3Error('RequestTimeout', 'The upload did not end in time after its URL had expired.');
}

/**
 * The chunks of a body until `remainingMs` have passed.
 *
 * @throws {S3Error} RequestTimeout
 */
export async function* untilDeadline(
  body: AsyncIterableIterator<Buffer>,
  remainingMs: number,
): AsyncGenerator<Buffer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(tooLateError()), Math.max(0, Math.min(remainingMs, longestTimer)));
  });
  late.catch(() => undefined);
  try {
    while (true) {
      const { done, value } = await Promise.race([body.next(), late]);
      if (done) return;
      yield value;
    }
  } finally {
    clearTimeout(timer);
    // Not awaited: it takes effect only when the client sends more.
    body.return?.().catch(() => undefined);
  }
}
