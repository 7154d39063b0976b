import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorReply, type Faults } from '../../../support/lying-store.ts';
import { detailOf, examineStore, setCredentials, testStores, unsetCredentials } from './examined.ts';
import { misbehavingFiles } from './misbehaving-files.ts';

beforeAll(() => setCredentials());
afterAll(unsetCredentials);

testStores('anyFiles', misbehavingFiles);

describe('pages of an origin', () => {
  const origin = 'https://app.example.com';
  const cors = (change: (name: string, value: string) => string | undefined): Faults => ({
    changes: ({ headers = {}, ...reply }) => {
      const changed = Object.entries(headers).flatMap(([name, value]) => {
        const told = name.startsWith('access-control') ? change(name, String(value)) : String(value);
        return told === undefined ? [] : [[name, told]];
      });
      return { ...reply, headers: Object.fromEntries(changed) };
    },
  });
  const without = (list: string) => cors((name, value) => (name.endsWith(list) ? undefined : value));
  const groups = ['access', 'uploads', 'anyFiles'] as const;

  it.each<[string, Faults, RegExp | undefined]>([
    ['of a store for all', {}, undefined],
    [
      'of a store for them',
      cors((name, value) => (name.endsWith('allow-origin') ? origin : value)),
      undefined,
    ],
    [
      'of a store that allows anything',
      cors((name, value) => (/headers|methods/.test(name) ? '*' : value)),
      undefined,
    ],
    [
      'that get no preflight',
      { instead: ({ method }) => (method === 'OPTIONS' ? errorReply(403, 'AccessForbidden') : undefined) },
      /it rejects the preflight \(403 AccessForbidden\)\.$/,
    ],
    ['that may send no headers', without('allow-headers'), /the header content-type isn't allowed\.$/],
    [
      'that may send no condition',
      cors((name, value) => (name.endsWith('allow-headers') ? 'Content-Type' : value)),
      /the header if-none-match isn't allowed\.$/,
    ],
    ['that may not upload', cors((name, value) => (name.endsWith('methods') ? 'GET' : value)), /PUT isn't/],
    ['that see no ETag', without('expose-headers'), /the header ETag isn't exposed\.$/],
    ['of another origin', without('allow-origin'), /the answer to a preflight doesn't allow the origin\.$/],
    [
      'that may upload, and read nothing',
      {
        changes: ({ headers = {}, ...reply }, { method }) => {
          const { 'access-control-allow-origin': _, ...others } = headers;
          return { ...reply, headers: method === 'GET' ? others : headers };
        },
      },
      /the answer to a download doesn't allow the origin\.$/,
    ],
    [
      'whose uploads are rejected',
      {
        instead: ({ method, headers }) =>
          method === 'PUT' && headers.origin ? errorReply(403, 'AccessDenied') : undefined,
      },
      /it rejects the upload \(403 AccessDenied\)\.$/,
    ],
  ])('%s', async (_, faults, says) => {
    const examined = await examineStore(faults, { origin }, { groups: [...groups] });
    expect(examined.found).toEqual(says ? { 'cross-origin': 'warning' } : {});
    expect(detailOf(examined, 'cross-origin')).toMatch(says ?? /can upload and download\.$/);
    expect(examined.stored).toEqual({ keys: [], uploads: [] });
  });
});
