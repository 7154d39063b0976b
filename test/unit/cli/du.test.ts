import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerDu } from '../../../cli/commands/du.ts';
import { parseS3Url } from '../../../cli/options.ts';
import { ListedBuckets } from '../../support/listed-buckets.ts';
import { errorReply, LyingStore } from '../../support/lying-store.ts';
import { hashNames } from '../../support/round-listing.ts';
import { credentials } from '../../support/store-fixture.ts';

const listed = new ListedBuckets();
const objects = hashNames(4000, 1).map((name, index) => ({ key: `acme/app/${name}`, sizeBytes: 1 + index }));
const bytes = objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
listed.add('n4000', objects);
let store: LyingStore;
let endpoint = '';
beforeAll(async () => {
  store = await LyingStore.start(listed.faults);
  endpoint = store.url;
  // The adapter's credentials come by the SDK's own chain, which looks here first.
  process.env['AWS_ACCESS_KEY_ID'] = credentials.accessKeyId;
  process.env['AWS_SECRET_ACCESS_KEY'] = credentials.secretAccessKey;
});
afterAll(async () => {
  delete process.env['AWS_ACCESS_KEY_ID'];
  delete process.env['AWS_SECRET_ACCESS_KEY'];
  await store.stop();
});

async function run(...args: string[]): Promise<string> {
  let out = '';
  const program = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  registerDu(program, {
    program: 'lfs-quota',
    version: '1.2.3',
    env: {},
    out: (text) => {
      out += text;
    },
    err: () => {},
    nowMs: () => Date.now(),
    sleep: async () => {},
    isTerminal: false,
    errIsTerminal: false,
  });
  await program.parseAsync(['du', ...args], { from: 'user' });
  return out;
}

describe('du', () => {
  it('counts what is below a path', async () => {
    const text = await run('s3://n4000/acme/app', '--endpoint', endpoint);
    expect(text).toContain('in 4,000 objects, scanned with 5 requests in ');
    expect(text.replaceAll(',', '')).toContain(`(${bytes} bytes)`);
  });

  it.each(['probe', 'sixteen', 'fixed-sixteen', 'sequential'])(
    'prints one JSON object (%s)',
    async (strategy) => {
      const args = ['--json', '--endpoint', endpoint, '--strategy', strategy, '--concurrency', '4'];
      expect(JSON.parse(await run('s3://n4000', ...args))).toMatchObject({
        bucket: 'n4000',
        prefix: '',
        objects: 4000,
        bytes,
      });
    },
  );

  it('prints the same with a hint', async () => {
    const args = ['--json', '--endpoint', endpoint, '--hint', '4000', '--concurrency', '4'];
    expect(JSON.parse(await run('s3://n4000', ...args))).toMatchObject({ objects: 4000, bytes });
  });

  it('counts nothing below a path without objects', async () => {
    expect(await run('s3://n4000/nowhere', '--endpoint', endpoint)).toMatch(
      /^0 B in 0 objects, .* 1 request /,
    );
  });

  it.each([
    [['s3://nobody', '--endpoint'], /Bucket nobody not found/],
    [['n4000/acme'], /has no bucket/],
    [['https://n4000/acme'], /has no bucket/],
    [['s3://b'], /has no bucket \(3 to 63 characters\)/],
    [['s3://b/acme'], /has no bucket \(3 to 63 characters\)/],
    [['s3://n4000', '--concurrency', '0'], /whole number/],
    [['s3://n4000', '--hint', '0'], /whole number/],
    [['s3://n4000', '--strategy', 'probe', '--hint', '5'], /only one of --hint and --strategy/],
    [['s3://n4000', '--endpoint', 'ftp://host'], /isn't a URL/],
    [['s3://n4000', '--endpoint', ''], /isn't a URL/],
    [['s3://n4000', '--endpoint', 'http://127.0.0.1:1'], /Can't reach http:\/\/127.0.0.1:1 \(ECONNREFUSED\)/],
  ])('%s ends with what is wrong', async (args, message) => {
    await expect(run(...args, ...(args.at(-1) === '--endpoint' ? [endpoint] : []))).rejects.toThrow(message);
  });
});

it.each([
  [301, 'PermanentRedirect', /The bucket b-1 is in eu-west-1, not in us-east-1/],
  [403, 'AccessDenied', /can't list b-1/],
  [403, 'SignatureDoesNotMatch', /rejected the credentials \(SignatureDoesNotMatch\)/],
  [400, 'ExpiredToken', /credentials have expired/],
  [403, 'RequestTimeTooSkewed', /The clock of .* differs too much/],
  [404, 'NoSuchBucket', /Bucket b-1 not found/],
])('%i %s ends with what is wrong', async (status, code, message) => {
  const headers = status === 301 ? { 'x-amz-bucket-region': 'eu-west-1' } : {};
  const refusing = await LyingStore.start({ instead: () => ({ ...errorReply(status, code), headers }) });
  await expect(run('s3://b-1', '--endpoint', refusing.url)).rejects.toThrow(message);
  await refusing.stop();
});

it('names the region that the body of an answer has', async () => {
  const body = '<Error><Code>AuthorizationHeaderMalformed</Code><Region>garage</Region></Error>';
  const refusing = await LyingStore.start({ instead: () => ({ status: 400, body }) });
  await expect(run('s3://b-1', '--endpoint', refusing.url)).rejects.toMatchObject({
    message: 'The bucket b-1 is in garage, not in us-east-1.',
    hint: 'Use --region garage.',
  });
  await refusing.stop();
});

it.each([
  ['s3://b-1', { bucket: 'b-1', prefix: '' }],
  ['s3://b-1/', { bucket: 'b-1', prefix: '' }],
  ['s3://b-1/a', { bucket: 'b-1', prefix: 'a/' }],
  ['s3://b-1/a/b/', { bucket: 'b-1', prefix: 'a/b/' }],
  ['s3://b-1/a*', { bucket: 'b-1', prefix: 'a' }],
  ['s3://b-1/*', { bucket: 'b-1', prefix: '' }],
  ['s3://_objects', { bucket: '_objects', prefix: '' }],
  ['s3://acme:b-1/a', { bucket: 'acme:b-1', prefix: 'a/' }],
  ['s3://:b-1', { bucket: ':b-1', prefix: '' }],
  [
    's3://arn:aws:s3:eu-west-1:123456789012:accesspoint/ap-1/a/b',
    { bucket: 'arn:aws:s3:eu-west-1:123456789012:accesspoint/ap-1', prefix: 'a/b/' },
  ],
  [
    's3://arn:aws:s3:eu-west-1:123456789012:accesspoint/ap-1',
    { bucket: 'arn:aws:s3:eu-west-1:123456789012:accesspoint/ap-1', prefix: '' },
  ],
])('%s is read as a path', (url, expected) => {
  expect(parseS3Url(url)).toEqual(expected);
});
