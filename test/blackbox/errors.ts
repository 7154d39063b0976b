import { expect } from 'vitest';
import { jsonOf } from './api.ts';
import type { Answer } from './exchange.ts';

const lfsType = 'application/vnd.git-lfs+json';

/** An error of the LFS API: the message is all that a person sees of it. */
export function expectLfsError(answer: Answer, status: number, message?: RegExp): void {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.headers['content-type']).toBe(lfsType);
  expect(jsonOf(answer)).toEqual({
    message: message ? expect.stringMatching(message) : expect.stringMatching(/\w+ \w+/),
    request_id: expect.stringMatching(/./),
  });
  if (status === 401) expect(answer.headers['lfs-authenticate']).toBe('Basic realm="lfs-quota"');
}

/** An error of the management API (RFC 9457). */
export function expectProblem(answer: Answer, status: number, detail?: RegExp): void {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.headers['content-type']).toBe('application/problem+json');
  expect(jsonOf(answer)).toEqual({
    type: expect.stringMatching(/^urn:lfs-quota:problem:[a-z-]+$/),
    code: expect.stringMatching(/^[a-z-]+$/),
    title: expect.stringMatching(/^[A-Z]/),
    status,
    detail: detail ? expect.stringMatching(detail) : expect.stringMatching(/\w+ \w+/),
  });
}

/** What two answers may not differ in, if nobody is to tell them apart. */
export function comparable(answer: Answer): unknown {
  const { date: _, 'apigw-requestid': __, ...headers } = answer.headers;
  return {
    status: answer.status,
    headers,
    text: answer.text.replace(/"request_id":"[^"]*"/, '"request_id":"…"'),
  };
}
