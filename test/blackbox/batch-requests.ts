import { beforeAll, describe, expect, it } from 'vitest';
import { type Api, basic } from './api.ts';
import { expectLfsError } from './errors.ts';
import { batchPath, lfsHeaders, lfsType, newOid, objectsIn, type Place, postBatch } from './lfs.ts';

const mib = 1024 * 1024;
const oneObject = [{ oid: '1'.repeat(64), size: 1 }];
const download = { operation: 'download', objects: oneObject };

const badBodies: Readonly<Record<string, [body: unknown, status: number, message?: RegExp]>> = {
  'no body': ['', 400, /JSON/],
  'no JSON': ['{', 400, /JSON/],
  'two documents': ['{}{}', 400, /JSON/],
  'bytes that are no text': [Buffer.from([0xff, 0xfe, 0x00]), 400, /JSON/],
  'half a megabyte of brackets': ['['.repeat(mib / 2), 400, /JSON/],
  null: ['null', 422],
  'a number': ['7', 422],
  'a text': ['"upload"', 422],
  'a list': ['[]', 422],
  nothing: [{}, 422],
  'nests without end': [`${'['.repeat(100_000)}${']'.repeat(100_000)}`, 422],
  'no operation': [{ objects: oneObject }, 422, /operation/],
  'an unknown operation': [
    { operation: 'delete', objects: oneObject },
    422,
    /"delete".*"upload".*"download"/,
  ],
  'an operation in capitals': [{ operation: 'Upload', objects: oneObject }, 422, /"Upload"/],
  'an operation that is no text': [{ operation: ['upload'], objects: oneObject }, 422, /operation/],
  'an operation of half a megabyte': [{ operation: 'x'.repeat(mib / 2), objects: oneObject }, 422],
  'no objects': [{ operation: 'upload' }, 422, /objects/],
  'an empty list of objects': [{ operation: 'upload', objects: [] }, 422, /no objects/],
  'objects that are no list': [{ operation: 'upload', objects: {} }, 422, /objects/],
  'an object that is null': [{ operation: 'upload', objects: [null] }, 422, /objects\.0/],
  'an object without an oid': [{ operation: 'upload', objects: [{ size: 1 }] }, 422, /objects\.0\.oid/],
  'an object without a size': [
    { operation: 'upload', objects: [{ oid: newOid() }] },
    422,
    /objects\.0\.size/,
  ],
  'an oid that is no text': [{ operation: 'upload', objects: [{ oid: 7, size: 1 }] }, 422, /objects\.0\.oid/],
  'a size that is a text': [{ operation: 'upload', objects: [{ oid: newOid(), size: '1' }] }, 422, /size/],
  'a size beyond all numbers': [
    `{"operation":"upload","objects":[{"oid":"${newOid()}","size":1e999}]}`,
    422,
    /size/,
  ],
  'another hash': [{ ...download, hash_algo: 'sha512' }, 409, /"sha512".*sha256/],
  'a hash that is no text': [{ ...download, hash_algo: 256 }, 422, /hash_algo/],
  'no adapter of ours': [{ ...download, transfers: ['ssh', 'tus'] }, 422, /"basic"/],
  'adapters that are no list': [{ ...download, transfers: 'basic' }, 422, /transfers/],
};

const goodBodies: Readonly<Record<string, object>> = {
  'no more than it must': download,
  'no adapters': { ...download, transfers: [] },
  'basic among others': { ...download, transfers: ['lfs-standalone-file', 'ssh', 'basic'] },
  'the hash by its name': { ...download, hash_algo: 'sha256' },
  'a ref': { ...download, ref: { name: 'refs/heads/main' } },
  'an empty ref': { ...download, ref: {} },
  'a ref of null': { ...download, ref: null },
  'members that nobody knows': { ...download, new: { feature: [1] } },
  'members of objects that nobody knows': { ...download, objects: [{ ...oneObject[0], more: true }] },
};

const types: readonly [header: 'accept' | 'content-type', value: string | undefined, status: number][] = [
  ['content-type', undefined, 415],
  ['content-type', '', 415],
  ['content-type', 'application/json', 415],
  ['content-type', 'text/plain', 415],
  ['content-type', 'application/vnd.git-lfs+jsonx', 415],
  ['content-type', `text/plain, ${lfsType}`, 415],
  ['content-type', `${lfsType}; charset=utf-8`, 200],
  ['content-type', `${lfsType};charset="UTF-8"`, 200],
  ['content-type', lfsType.toUpperCase(), 200],
  ['accept', undefined, 200],
  ['accept', '', 200],
  ['accept', '*/*', 200],
  ['accept', 'application/*', 200],
  ['accept', `${lfsType}; charset=utf-8`, 200],
  ['accept', `text/html, ${lfsType.toUpperCase()};q=0.5`, 200],
  ['accept', 'text/html, */*;q=0.1', 200],
  ['accept', `*/*;q=0, ${lfsType}`, 200],
  ['accept', 'application/json', 406],
  ['accept', 'text/*', 406],
  ['accept', `${lfsType};q=0`, 406],
  ['accept', `${lfsType}; charset=utf-8; q=0.000`, 406],
  ['accept', `${lfsType};q=0, */*`, 406],
  ['accept', `*/*, application/*;q=0`, 406],
];

/** The Batch API's request as a whole: what is wrong with it is said once, for all of it. */
export function batchRequestTests(api: () => Api): void {
  describe('a batch request', () => {
    let place: Place;
    beforeAll(async () => {
      place = { ...(await api().newTenant()), repo: 'game' };
    });

    it.each(Object.entries(badBodies))('is refused with %s', async (_name, [body, status, message]) => {
      expectLfsError(await postBatch(api(), place, body), status, message);
    });

    it.each(Object.entries(goodBodies))('is taken with %s', async (_name, body) => {
      expect(objectsIn(await postBatch(api(), place, body))).toHaveLength(1);
    });

    it.each(types)('with %s: %s gets a %i', async (header, value, status) => {
      const { [header]: _, ...others } = { ...lfsHeaders };
      const answer = await api().send({
        method: 'POST',
        path: batchPath(place),
        headers: { ...others, ...basic(place.writeToken), ...(value !== undefined && { [header]: value }) },
        body: JSON.stringify(download),
      });
      if (status === 200) objectsIn(answer);
      else expectLfsError(answer, status, /application\/vnd\.git-lfs\+json/);
    });

    it('of 1,000 objects is taken, and of 1,001 not', async () => {
      const objects = Array.from({ length: 1001 }, () => ({ oid: newOid(), size: 1 }));
      const tooMany = await postBatch(api(), place, { operation: 'upload', objects });
      expectLfsError(tooMany, 413, /1001.*1000/);
      const most = await postBatch(api(), place, { operation: 'upload', objects: objects.slice(1) });
      const answers = objectsIn(most);
      expect(answers).toHaveLength(1000);
      for (const { actions } of answers) expect(actions).toHaveProperty('upload');
    });

    it('of 1 MiB is taken, and of a byte more not', async () => {
      const most = JSON.stringify(download).padEnd(mib);
      objectsIn(await postBatch(api(), place, most));
      expectLfsError(await postBatch(api(), place, `${most} `), 413, /1 MiB/);
    });

    it('in chunks is taken', async () => {
      const headers = { ...lfsHeaders, ...basic(place.writeToken) };
      const body = JSON.stringify(download);
      const request = { method: 'POST', path: batchPath(place), headers, body, chunked: true };
      objectsIn(await api().send(request));
    });
  });
}
