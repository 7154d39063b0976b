import { describe, expect, it } from 'vitest';
import { pause, Retries, type RetrySettings } from '../../../../../lambda/core/store/bucket-client.ts';
import { MalformedAnswerError, StoreAnswerError } from '../../../../../lambda/core/store/http-exchange.ts';

it.each([
  ['it is stopped', (stop: AbortController) => setTimeout(() => stop.abort(), 5)],
  ['it was stopped before', (stop: AbortController) => stop.abort()],
])('a pause ends early if %s', async (_, act) => {
  const stop = new AbortController();
  act(stop);
  const startedMs = performance.now();
  await pause(60_000, stop.signal);
  expect(performance.now() - startedMs).toBeLessThan(30_000);
});

const settings: RetrySettings = {
  attemptsMax: 5,
  baseDelayMs: 100,
  throttledDelayMs: 500,
  delayMaxMs: 1_500,
  retryAfterMaxMs: 3_000,
};

function answered(status: number, code = 'Unknown', headers: Record<string, string> = {}): StoreAnswerError {
  return new StoreAnswerError({ status, code, message: 'said', head: { status, headers } });
}

function pausesAfter(error: Error, random = () => 1): (number | undefined)[] {
  const retries = new Retries({ random });
  return [1, 2, 3, 4, 5].map((attempt) => retries.pauseMs({ error, attempt, settings }));
}

const withCode = (code: string) => Object.assign(new Error(code), { code });

describe('a request is sent again', () => {
  it.each([
    ['500', answered(500)],
    ['502', answered(502)],
    ['a status of a proxy', answered(522)],
    ['a page that is none', new MalformedAnswerError('cut')],
    ['a reset', withCode('ECONNRESET')],
    ['bytes that changed on their way', withCode('ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC')],
    ['400 RequestTimeout', answered(400, 'RequestTimeout')],
    ['409 OperationAborted', answered(409, 'OperationAborted')],
    ['400 InternalServiceError', answered(400, 'InternalServiceError')],
  ])('after %s, with pauses that double', (_what, error) => {
    expect(pausesAfter(error)).toEqual([100, 200, 400, 800, undefined]);
  });

  it.each([
    ['503', answered(503)],
    ['503 SlowDown', answered(503, 'SlowDown')],
    ['429', answered(429)],
    ['400 ThrottlingException', answered(400, 'ThrottlingException')],
    ['400 RequestThrottled', answered(400, 'RequestThrottled')],
    ['400 KmsThrottled', answered(400, 'KmsThrottled')],
    ['400 TooManyRequestsException', answered(400, 'TooManyRequestsException')],
    ['400 RequestLimitExceeded', answered(400, 'RequestLimitExceeded')],
    ['400 ProvisionedThroughputExceededException', answered(400, 'ProvisionedThroughputExceededException')],
  ])('later after %s, and no later than the longest pause', (_what, error) => {
    expect(pausesAfter(error)).toEqual([500, 1000, 1500, 1500, undefined]);
  });

  it('after a part of the pause, by chance', () => {
    expect(pausesAfter(answered(500), () => 0.5)).toEqual([50, 100, 200, 400, undefined]);
  });

  it.each([
    ['seconds', '2', 2_000],
    ['more than is obeyed', '600', 3_000],
    ['nonsense', 'soon', 500],
    ['a time that has passed', 'Sun, 01 Nov 2020 10:00:00 GMT', 500],
  ])('when the store asks for it: %s', (_what, value, pauseMs) => {
    expect(pausesAfter(answered(503, 'SlowDown', { 'retry-after': value }))[0]).toBe(pauseMs);
  });

  it('if nobody listens at the address', () => {
    expect(pausesAfter(withCode('ECONNREFUSED'))).toEqual([100, 200, 400, 800, undefined]);
  });

  it('three times if the address may be wrong, unless somebody has listened there', () => {
    const error = withCode('ECONNREFUSED');
    const retries = new Retries({ random: () => 1, wrongAddressAttemptsMax: 3 });
    const pauses = [1, 2, 3].map((attempt) => retries.pauseMs({ error, attempt, settings }));
    expect(pauses).toEqual([100, 200, undefined]);
    retries.noteSuccess();
    expect(retries.pauseMs({ error, attempt: 4, settings })).toBe(800);
  });
});

describe('a request is not sent again', () => {
  it.each([
    ['a refusal', answered(403, 'AccessDenied')],
    ['a redirect', answered(301)],
    ['what the store cannot do', answered(501, 'NotImplemented')],
    ['a mistake of ours', new TypeError('undefined is not a function')],
    ['a header that Node refuses', withCode('ERR_INVALID_CHAR')],
  ])('after %s', (_what, error) => {
    expect(pausesAfter(error)[0]).toBeUndefined();
  });
});
