import { describe, expect, it } from 'vitest';
import { explainStoreError } from '../../../../cli/du/store-errors.ts';
import { CliError } from '../../../../cli/errors.ts';
import { MalformedAnswerError, StoreAnswerError } from '../../../../lambda/core/store/http-exchange.ts';
import {
  BrokenListingError,
  StoreRefusedError,
  StoreUnavailableError,
} from '../../../../lambda/core/store/rules/store.ts';
import { programForTest } from '../harness.ts';

const target = {
  bucket: 'objects',
  endpoint: 'https://s3.example.com',
  region: 'us-east-1',
  slower: '--concurrency 8',
};
const refused = (status: number, code?: string) =>
  new StoreRefusedError('x', { cause: new StoreAnswerError({ status, code, message: undefined }) });
const down = (code: string) =>
  new StoreUnavailableError('x', { cause: Object.assign(new Error('connect'), { code }) });

describe('an error of a store', () => {
  it.each([
    ['no answer', down('ECONNREFUSED'), 'unavailable', /Can't reach .* \(ECONNREFUSED\)/, /--endpoint/],
    ['a store that is too busy', down('x'), 'unavailable', /didn't list the path/, /--concurrency 8/],
    ['no bucket', refused(404, 'NoSuchBucket'), 'not-found', /Bucket objects not found/, /Check its name/],
    ['a wrong key', refused(403, 'InvalidAccessKeyId'), 'unauthorized', /rejected the cred/, /access key id/],
    [
      'a wrong secret',
      refused(403, 'SignatureDoesNotMatch'),
      'unauthorized',
      /rejected/,
      /secret access key/,
    ],
    ['an old session', refused(400, 'ExpiredToken'), 'unauthorized', /have expired/, /Sign in again/],
    ['no right', refused(403, 'AccessDenied'), 'unauthorized', /can't list objects/, /s3:ListBucket/],
    ['no credentials', new StoreRefusedError('x'), 'unauthorized', /No credentials/, /AWS_ACCESS_KEY_ID/],
    ['clocks', refused(403, 'RequestTimeTooSkewed'), 'failed', /clock/, /NTP/],
    ['another region', refused(301), 'failed', /isn't in us-east-1/, /--region/],
    [
      'another refusal',
      refused(405, 'Odd'),
      'failed',
      /rejected the listing of objects \(405 Odd\)/,
      /--endpoint/,
    ],
    [
      'a store that never lists',
      new StoreUnavailableError('x', {
        cause: new StoreAnswerError({ status: 501, code: 'NotImplemented', message: undefined }),
      }),
      'failed',
      /can't list the path: 501 NotImplemented/,
      /lfs-quota doctor/,
    ],
    ['a listing unlike S3', new BrokenListingError('In a circle.'), 'failed', /: In a circle\.$/, /doctor/],
    ['no listing', new MalformedAnswerError('cut'), 'failed', /can't be read: cut/, /lfs-quota doctor/],
  ])('%s says what to do, and has an exit code', (_, error, failure, message, hint) => {
    const explained = explainStoreError(error, target);
    expect(explained).toBeInstanceOf(CliError);
    expect(explained).toMatchObject({
      failure,
      cause: error,
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
    });
  });

  const answers = ['InvalidAccessKeyId', 'ExpiredToken', 'RequestTimeTooSkewed', 'Odd'].map((code) =>
    refused(400, code),
  );
  const errors = [
    ...[
      down('ECONNREFUSED'),
      down('x'),
      new StoreRefusedError('x'),
      new BrokenListingError('x'),
      new MalformedAnswerError('x'),
    ],
    ...[301, 403, 404, 405].map((status) => refused(status)),
    ...answers,
    new StoreRefusedError('x', {
      cause: new StoreAnswerError({ status: 400, code: 'x', message: undefined, region: 'eu-west-1' }),
    }),
  ];

  it.each([
    ['du', { slower: '--concurrency 8' }],
    ['doctor', {}],
    ['serve', { endpointOption: '--store' }],
  ])('advises only options that %s has', (name, more) => {
    const own = programForTest()
      .commands.find((each) => each.name() === name)
      ?.options.map(({ long }) => long);
    const { slower: _, ...place } = target;
    const hints = errors.map(
      (error) => (explainStoreError(error, { ...place, ...more }) as CliError).hint ?? '',
    );
    const named = hints.flatMap((hint) => hint.match(/--[a-z][\w-]*/g) ?? []);
    expect(named.length).toBeGreaterThan(3);
    expect(own).toEqual(expect.arrayContaining(named));
  });

  it('is none if it is a bug', () => {
    const bug = new TypeError('x');
    expect(explainStoreError(bug, target)).toBe(bug);
  });
});
