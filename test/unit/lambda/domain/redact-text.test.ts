import { expect, it } from 'vitest';
import { redactText } from '../../../../lambda/domain/redact-text.ts';

it.each([
  [`a lfsq_${'a'.repeat(40)} b`, 'a lfsq_… b'],
  [`lfsv_${'B1'.repeat(10)}.`, 'lfsv_….'],
  ['https://s3.example/k?a=1&X-Amz-Signature=abc&b=2 then', 'https://s3.example/k?… then'],
  [`Authorization: Basic ${Buffer.from('any:password').toString('base64')}`, 'Authorization: Basic …'],
  ['bearer abcdefgh', 'bearer …'],
  [`whsec_${'aB3+/'.repeat(8)}== and`, 'whsec_… and'],
  ['whsec_12345678', 'whsec_…'],
  ['whsec_1234567', 'whsec_1234567'],
  ['lfsq_short, a Bearer of news', 'lfsq_short, a Bearer of news'],
])('of %j leaves %j', (text, redacted) => {
  expect(redactText(text)).toBe(redacted);
});
