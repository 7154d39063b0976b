import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import {
  arrivedText,
  below,
  clientAddress,
  originOf,
  readCorsOrigins,
  readPublicUrls,
  readTrustedProxies,
} from '../../../local/reach.ts';
import { StartupError } from '../../../local/system/durable-file.ts';

describe('where links lead', () => {
  it.each([
    ['localhost:9000', 'localhost:9000'],
    ['[::1]:8787', '[::1]:8787'],
    ['evil.example', '127.0.0.1:8787'],
    ['127.0.0.1.evil.example', '127.0.0.1:8787'],
    [undefined, '127.0.0.1:8787'],
  ])('on this machine, with the Host %s, is %s', (host, expected) => {
    expect(originOf({}, { host, port: 8787 })).toEqual({
      url: `http://${expected}`,
      host: expected,
      port: '8787',
      protocol: 'http',
      path: '',
    });
  });

  it('is the public URL, whatever Host says', () => {
    const publicUrls = readPublicUrls('https://lfs.example.com');
    for (const host of ['evil.example', 'localhost', 'lfs.example.com@evil.example', '', '[', undefined])
      expect(originOf({ publicUrls }, { host, port: 8787 })).toEqual({
        url: 'https://lfs.example.com',
        host: 'lfs.example.com',
        port: '443',
        protocol: 'https',
        path: '',
      });
    const other = readPublicUrls('https://lfs.example.com:8443/');
    expect(originOf({ publicUrls: other }, { host: 'x', port: 1 })).toMatchObject({
      host: 'lfs.example.com:8443',
      port: '8443',
    });
  });

  it.each([
    ['git.example.org', '/acme', 'https://git.example.org/lfs'],
    ['git.example.org:443', '/lfs/acme', 'https://git.example.org/lfs'],
    ['GIT.example.org', '/other?a', 'https://git.example.org/other'],
    ['git.example.org', '/others', 'https://git.example.org/lfs'],
    ['git.example.org:444', '/lfs', 'https://lfs.example.com'],
    ['git.example.org.evil.example', '/lfs', 'https://lfs.example.com'],
    ['127.0.0.1:8787', '/', 'http://127.0.0.1:8787'],
    ['127.0.0.1', '/', 'https://lfs.example.com'],
    ['objects.example.com', '/', 'https://lfs.example.com'],
  ])('of several, is the one that the Host %s names, for the target %s', (host, target, expected) => {
    const publicUrls = readPublicUrls(
      'https://lfs.example.com, https://git.example.org/lfs/,https://git.example.org/other,http://127.0.0.1:8787',
    );
    expect(originOf({ publicUrls }, { host, port: 8787, target }).url).toBe(expected);
  });

  it('takes its path off a target, and no other', () => {
    expect(
      ['/lfs', '/lfs/a?b', '/lfs?a', '/lfsx', '/', '/x/lfs/'].map((target) => below('/lfs', target)),
    ).toEqual(['', '/a?b', '?a', undefined, undefined, undefined]);
    expect(below('', '/a')).toBe('/a');
  });

  it.each([
    '',
    'lfs.example.com',
    'ftp://lfs.example.com',
    'https://lfs.example.com/a b',
    'https://lfs.example.com//a',
    'https://lfs.example.com/%61',
    'https://lfs.example.com,',
    'https://lfs.example.com#a',
    'https://user@lfs.example.com',
    'https://lfs.example.com?query',
    'http://lfs.example.com',
  ])('can’t be %j', (text) => {
    expect(() => readPublicUrls(text)).toThrow(StartupError);
  });

  it('may be plain HTTP on this machine', () => {
    expect(readPublicUrls('http://127.0.0.1:8787')[0].origin).toBe('http://127.0.0.1:8787');
  });
});

describe('what a proxy passes on', () => {
  const request = (remoteAddress: string, forwarded?: string) =>
    ({
      headers: { authorization: 'Bearer x', ...(forwarded && { 'x-forwarded-for': forwarded }) },
      socket: { remoteAddress },
    }) as unknown as IncomingMessage;
  const publicUrls = readPublicUrls('https://lfs.example.com');
  const trusts = readTrustedProxies('10.0.0.0/8');

  it.each([
    [
      'of a proxy that is trusted',
      { publicUrls, trusts },
      request('10.1.2.3', '192.0.2.7'),
      'authorization,x-forwarded-for',
    ],
    ['of one that says nothing', { publicUrls, trusts }, request('10.1.2.3'), 'authorization'],
    [
      'of one that is not trusted',
      { publicUrls, trusts },
      request('127.0.0.1', '192.0.2.7'),
      'authorization',
    ],
    [
      'where uploads have a limit',
      { publicUrls, trusts, uploadBytesMax: 90 },
      request('10.1.2.3', '192.0.2.7'),
      'authorization,x-forwarded-for,uploads=90',
    ],
    ['without a public URL', {}, request('127.0.0.1'), undefined],
    [
      'where the server itself is reached',
      { publicUrls: readPublicUrls('http://localhost:8787') },
      request('127.0.0.1'),
      undefined,
    ],
    [
      'on another port',
      { publicUrls: readPublicUrls('http://localhost:80') },
      request('127.0.0.1'),
      'authorization',
    ],
  ])('%s, is told', (_, reach, incoming, expected) => {
    expect(arrivedText(reach, 8787, incoming)).toBe(expected);
  });
});

describe('who sent a request', () => {
  const trusts = readTrustedProxies('127.0.0.1, 10.0.0.0/8,2001:db8::/32');

  it.each([
    ['127.0.0.1', undefined, '127.0.0.1'],
    ['127.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['::ffff:127.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['127.0.0.1', '203.0.113.7, 10.1.2.3', '203.0.113.7'],
    ['2001:db8::1', '2001:4860::8', '2001:4860::8'],
    // What the client wrote itself stands left of what the proxy added.
    ['127.0.0.1', '198.51.100.1, 203.0.113.7', '203.0.113.7'],
    ['203.0.113.9', '198.51.100.1', '203.0.113.9'],
    // Some add the client's port.
    ['127.0.0.1', '203.0.113.7:50123', '203.0.113.7'],
    ['127.0.0.1', '198.51.100.1, [2001:4860::8]:50123, 10.1.2.3:443', '2001:4860::8'],
    ['127.0.0.1', '[2001:4860::8]', '2001:4860::8'],
    ['127.0.0.1', '[::ffff:203.0.113.7]:50123', '203.0.113.7'],
    // Each address has one spelling, so that it counts as one.
    ['127.0.0.1', '::FFFF:203.0.113.7', '203.0.113.7'],
    ['127.0.0.1', '::ffff:cb00:7107', '203.0.113.7'],
    ['127.0.0.1', '[0:0:0:0:0:ffff:CB00:7107]:1', '203.0.113.7'],
    ['127.0.0.1', '0000::ffff:203.0.113.7', '203.0.113.7'],
    ['127.0.0.1', '2001:4860:0:0::0008', '2001:4860::8'],
    ['::ffff:7f00:1', '203.0.113.7', '203.0.113.7'],
    ['127.0.0.1', '203.0.113.007', '127.0.0.1'],
    ['127.0.0.1', '203.0.113.7:x', '127.0.0.1'],
    ['127.0.0.1', 'unknown', '127.0.0.1'],
    ['127.0.0.1', '203.0.113.7, ', '127.0.0.1'],
    ['127.0.0.1', '10.0.0.1, 10.0.0.2', '10.0.0.1'],
  ])('from %s, forwarded for %s, is %s', (remote, forwarded, expected) => {
    expect(clientAddress({ trusts }, { remote, forwarded })).toBe(expected);
  });

  it('is the connection’s address if no proxy is trusted', () => {
    expect(clientAddress({}, { remote: '127.0.0.1', forwarded: '203.0.113.7' })).toBe('127.0.0.1');
  });

  it.each(['', 'proxy.example', '10.0.0.0/33', '10.0.0.0/8/8', '10.0.0.0/x', '10.0.0.1,'])(
    'trusts no proxy named %j',
    (text) => {
      expect(() => readTrustedProxies(text)).toThrow(StartupError);
    },
  );
});

it('reads origins of pages', () => {
  expect(readCorsOrigins('https://a.example, http://127.0.0.1:3000')).toEqual(
    new Set(['https://a.example', 'http://127.0.0.1:3000']),
  );
});
