import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerDu } from '../../../cli/commands/du.ts';
import { parseS3Url } from '../../../cli/du/s3-url.ts';
import { ListServer } from '../../support/list-server/server.ts';

const server = new ListServer();
let endpoint = '';
beforeAll(async () => {
  endpoint = `http://127.0.0.1:${await server.listen()}`;
  // The adapter's credentials come by the SDK's own chain, which looks here first.
  process.env['AWS_ACCESS_KEY_ID'] = 'key';
  process.env['AWS_SECRET_ACCESS_KEY'] = 'secret';
});
afterAll(async () => {
  delete process.env['AWS_ACCESS_KEY_ID'];
  delete process.env['AWS_SECRET_ACCESS_KEY'];
  await server.close();
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
    const bytes = server.keySet(4000).totalBytes;
    const text = await run('s3://n4000/acme/app', '--endpoint', endpoint);
    expect(text).toContain('in 4,000 objects, counted with 5 requests in ');
    expect(text.replaceAll(',', '')).toContain(`(${bytes} bytes)`);
  });

  it.each([
    ['probe', []],
    ['sixteen', []],
    ['fixed-sixteen', []],
    ['sequential', []],
    ['hint', ['--hint', '4000']],
  ])('prints one JSON object (%s)', async (strategy, more) => {
    const args = ['--json', '--endpoint', endpoint, '--strategy', strategy, '--concurrency', '4', ...more];
    expect(JSON.parse(await run('s3://n4000', ...args))).toMatchObject({
      bucket: 'n4000',
      prefix: '',
      objects: 4000,
      bytes: server.keySet(4000).totalBytes,
    });
  });

  it('counts nothing below a path without objects', async () => {
    expect(await run('s3://n4000/nowhere', '--endpoint', endpoint)).toMatch(
      /^0 B in 0 objects, .* 1 request /,
    );
  });

  it.each([
    [['s3://nobody', '--endpoint'], /There is no bucket nobody/],
    [['n4000/acme'], /names no bucket/],
    [['https://n4000/acme'], /names no bucket/],
    [['s3://n4000', '--hint', '0'], /whole number/],
    [['s3://n4000', '--strategy', 'hint'], /needs --hint/],
    [['s3://n4000', '--strategy', 'probe', '--hint', '5'], /exclude each other/],
    [['s3://n4000', '--endpoint', 'ftp://host'], /is not an address/],
    [
      ['s3://n4000', '--endpoint', 'http://127.0.0.1:1'],
      /Nothing answers at http:\/\/127.0.0.1:1 \(ECONNREFUSED\)/,
    ],
  ])('%s ends with what is wrong', async (args, message) => {
    await expect(run(...args, ...(args.at(-1) === '--endpoint' ? [endpoint] : []))).rejects.toThrow(message);
  });
});

it.each([
  [301, 'PermanentRedirect', /The bucket b-1 is in eu-west-1, not in us-east-1/],
  [403, 'AccessDenied', /may not list b-1/],
  [403, 'SignatureDoesNotMatch', /rejected the credentials \(SignatureDoesNotMatch\)/],
  [400, 'ExpiredToken', /credentials have expired/],
  [403, 'RequestTimeTooSkewed', /The clock of .* differs too much/],
  [404, 'NoSuchBucket', /There is no bucket b-1/],
])('%i %s ends with what is wrong', async (status, code, message) => {
  const refusing = createServer((_request, response) => {
    const headers = status === 301 ? { 'x-amz-bucket-region': 'eu-west-1' } : {};
    response.writeHead(status, headers).end(`<Error><Code>${code}</Code></Error>`);
  });
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(refusing.address() as AddressInfo).port}`;
  await expect(run('s3://b-1', '--endpoint', url)).rejects.toThrow(message);
  refusing.closeAllConnections();
  refusing.close();
});

it.each([
  ['s3://b-1', { bucket: 'b-1', prefix: '' }],
  ['s3://b-1/', { bucket: 'b-1', prefix: '' }],
  ['s3://b-1/a', { bucket: 'b-1', prefix: 'a/' }],
  ['s3://b-1/a/b/', { bucket: 'b-1', prefix: 'a/b/' }],
  ['s3://b-1/a*', { bucket: 'b-1', prefix: 'a' }],
  ['s3://b-1/*', { bucket: 'b-1', prefix: '' }],
])('%s is read as a path', (url, expected) => {
  expect(parseS3Url(url)).toEqual(expected);
});
