import { expect, it } from 'vitest';
import { RejectedLogins } from '../../../../../lambda/http/lfs/rejected-logins.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';

const repeated = (logins: RejectedLogins, credential: string, times: number) =>
  Array.from({ length: times }, () => logins.isRepeated(credential));

it('takes the fourth rejection of a credential within a minute for a repetition', () => {
  const clock = new ManualClock();
  const logins = new RejectedLogins(clock);
  expect(repeated(logins, 'bad', 5)).toEqual([false, false, false, true, true]);
  expect(repeated(logins, 'other', 3)).toEqual([false, false, false]);
});

it('forgets after a minute', async () => {
  const clock = new ManualClock();
  const logins = new RejectedLogins(clock);
  repeated(logins, 'bad', 5);
  await clock.sleep(60_000);
  expect(repeated(logins, 'bad', 4)).toEqual([false, false, false, true]);
});

it('remembers only so many credentials', () => {
  const logins = new RejectedLogins(new ManualClock());
  repeated(logins, 'first', 3);
  for (let index = 0; index < 10_000; index += 1) logins.isRepeated(`token-${index}`);
  expect(logins.isRepeated('first')).toBe(false);
  expect(repeated(logins, 'token-9999', 3)).toEqual([false, false, true]);
});
