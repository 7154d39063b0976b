import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock, Ids } from '../../core/rules/clock-and-log.ts';

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  sleep: (durationMs) => delay(durationMs),
};

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Random base62 from the system's cryptographic source. Bytes that would favour some digits are skipped. */
export const systemIds: Ids = {
  random(length) {
    let text = '';
    while (text.length < length) {
      for (const byte of randomBytes(length * 2)) {
        if (byte < 62 * 4 && text.length < length) text += base62[byte % 62];
      }
    }
    return text;
  },
};
