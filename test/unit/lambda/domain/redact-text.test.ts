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
  [
    'AWS4-HMAC-SHA256 Credential=AKIA/20261124/eu/s3/aws4_request, SignedHeaders=host, Signature=0af1.',
    'AWS4-HMAC-SHA256 Credential=…, SignedHeaders=host, Signature=…',
  ],
  ["'x-amz-security-token:IQoJb3JpZ2lu/+=' 'x-amz-date:1'", "'x-amz-security-token:…' 'x-amz-date:1'"],
  [
    'https://s3.example/k?X-Amz-Credential=AKIA%2F1&X-Amz-Security-Token=IQoJ',
    'https://s3.example/k?X-Amz-Credential=…&X-Amz-Security-Token=…',
  ],
])('of %j leaves %j', (text, redacted) => {
  expect(redactText(text)).toBe(redacted);
});
