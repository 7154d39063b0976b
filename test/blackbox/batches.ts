import { beforeAll, describe, expect, it } from 'vitest';
import { type Api, basic, expectLfsError, type TestTenant } from './api.ts';
import {
  admitted,
  ask,
  batchPath,
  lfsHeaders,
  lfsType,
  newOid,
  objectOf,
  objectsIn,
  type Place,
  pointer,
  postBatch,
  push,
  serves,
} from './lfs.ts';

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
  // A body is JSON, whatever it is called: `fetch` calls a text `text/plain`.
  ['content-type', undefined, 200],
  ['content-type', '', 200],
  ['content-type', 'application/json', 200],
  ['content-type', 'text/plain;charset=UTF-8', 200],
  ['content-type', 'application/octet-stream', 200],
  ['content-type', `text/plain, ${lfsType}`, 200],
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
      place = await api().newPlace();
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
      expectLfsError(tooMany, 413, /1,001 .* 1,000\..* git config lfs\.transfer\.batchSize 1000$/);
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

const gib = 1024 ** 3;

const badOids = [
  ...['', '1'.repeat(63), '1'.repeat(65), 'A'.repeat(64), 'g'.repeat(64), `${'1'.repeat(64)}\n`],
  ...[` ${'1'.repeat(64)}`, '../../other/game/x', `${'1'.repeat(32)}/../${'1'.repeat(28)}`, 'sha256:1'],
  ...['\u0000', '😀', '__proto__', 'constructor', 'x'.repeat(20_000)],
];

/** Above 5 GiB, only in chunks. */
const tooLarge = serves('chunks') ? /4\.88 TiB/ : /maximum is 5 GiB/;

const badSizes: readonly [size: number, message: RegExp][] = [
  [-1, /size/],
  [0.5, /size/],
  [1e300, /size/],
  [2 ** 53, /size/],
  [-(2 ** 53), /size/],
  [5_000 * gib + 1, tooLarge],
  [Number.MAX_SAFE_INTEGER, tooLarge],
];

/** The Batch API's objects: what is wrong with one is said of that one, and the others go on. */
export function batchObjectTests(api: () => Api): void {
  let place: Place;
  beforeAll(async () => {
    place = await api().newPlace();
  });
  const askFor = async (operation: string, objects: readonly { oid: string; size: number }[]) =>
    objectsIn(await postBatch(api(), place, { operation, objects }));

  describe.each(['upload', 'download'])('objects of a batch %s', (operation) => {
    it.each(badOids)('with the oid %.80j are refused one by one', async (oid) => {
      const good = { oid: newOid(), size: 3 };
      const answers = await askFor(operation, [{ oid, size: 3 }, good]);
      expect(answers).toHaveLength(2);
      expect(answers).toContainEqual({
        oid,
        size: 3,
        error: { code: 422, message: expect.stringMatching(/64 lower-case hex/) },
      });
      const other = answers.find((answer) => answer.oid === good.oid);
      expect(other).toHaveProperty(operation === 'upload' ? 'actions.upload' : 'error.code');
    });

    it.each(badSizes)('with the size %d are refused one by one', async (size, message) => {
      const [bad, good] = [
        { oid: newOid(), size },
        { oid: newOid(), size: 3 },
      ];
      const answers = await askFor(operation, [good, bad]);
      expect(answers).toHaveLength(2);
      const expected = { ...bad, error: { code: 422, message: expect.stringMatching(message) } };
      expect(answers).toContainEqual(expected);
      expect(answers.find(({ oid }) => oid === good.oid)?.error?.code).not.toBe(422);
    });

    it('that are named twice are answered in each place', async () => {
      const [one, other] = [
        { oid: newOid(), size: 3 },
        { oid: newOid(), size: 4 },
      ];
      const asked = [one, other, one, { oid: 'none', size: 3 }, one, other];
      const answers = await askFor(operation, asked);
      expect(answers.map(pointer)).toEqual(asked);
      expect(answers.map(({ error }) => error?.code === 422)).toEqual(
        [...asked.keys()].map((at) => at === 3),
      );
      expect(answers[2]).toEqual(answers[0]);
      expect(answers[5]).toEqual(answers[1]);
    });

    it('that are named with two sizes are refused in each place', async () => {
      const [twice, once] = [newOid(), newOid()];
      const asked = [
        { oid: twice, size: 3 },
        { oid: once, size: 4 },
        { oid: twice, size: 5 },
        { oid: twice, size: 3 },
      ];
      const answers = await askFor(operation, asked);
      expect(answers.map(pointer)).toEqual(asked);
      for (const answer of answers) {
        if (answer.oid === once) continue;
        const message = expect.stringMatching(
          new RegExp(`twice.* File: git lfs ls-files -al \\| grep ${twice.slice(0, 7)}$`),
        );
        expect(answer).toEqual({ ...pointer(answer), error: { code: 422, message } });
      }
    });

    it('that are all refused are answered all the same', async () => {
      const objects = badOids.map((oid) => ({ oid, size: -1 }));
      const answers = await askFor(operation, [...objects, ...objects]);
      expect(new Set(answers.map(({ oid }) => oid))).toEqual(new Set(badOids));
      for (const { error } of answers) expect(error?.code).toBe(422);
    });
  });

  describe('objects of a batch upload', () => {
    it('of 5 GiB and of 0 bytes are admitted', async () => {
      const answers = await askFor('upload', [
        { oid: newOid(), size: 5 * gib },
        { oid: newOid(), size: 0 },
      ]);
      for (const answer of answers) expect(answer).toHaveProperty('actions.upload.href');
    });

    it('may write their sizes as JSON can', async () => {
      const oids = [newOid(), newOid(), newOid()];
      const sizes = ['1e3', '7.0', '-0'];
      const objects = oids.map((oid, index) => `{"oid":"${oid}","size":${sizes[index]}}`);
      const body = `{"operation":"upload","objects":[${objects.join(',')}]}`;
      const answers = objectsIn(await postBatch(api(), place, body));
      expect(answers.map(({ size }) => size)).toEqual([1000, 7, 0]);
      for (const answer of answers) expect(answer).toHaveProperty('actions.upload.href');
    });
  });
}

const noRepo = [
  ...['.git', '..git', '.', '..', '%2e', '%2e%2e', '%2E%2E', '%2e%2e%2f%2e%2e', 'a%2fb', 'a%2Fb', 'a%5cb'],
  ...[
    '-a',
    '_a',
    '.a',
    'a.',
    'a..git',
    'a.git.git',
    'a.GIT',
    'a.Git.git',
    'a%20b',
    '%20',
    'a%00',
    '%0a',
    'a%0a',
    'a%3fb',
    'a%23b',
    '%c3%a4',
  ],
  ...['a:b', 'a@b', 'a~b', 'a+b', '%252e%252e', 'x'.repeat(101), 'x'.repeat(3000)],
];

const noTenant = [
  ...['UPPER', 'Upper', '-a', 'a-', 'a.b', 'a_b', '.', '..', '%2e%2e', 'a%2fb', 'a%00', 'a%0a', '%c3%a4'],
  ...['v1', 'health', 'assets', 'x'.repeat(41), 'x'.repeat(3000)],
];

/** Names in paths, as they should be and as they should not. */
export function pathTests(api: () => Api): void {
  let tenant: TestTenant;
  beforeAll(async () => {
    tenant = await api().newTenant();
  });
  const body = () => JSON.stringify({ operation: 'download', objects: [{ oid: newOid(), size: 1 }] });
  const post = (path: string) => {
    const headers = { ...lfsHeaders, ...basic(tenant.writeToken) };
    return api().send({ method: 'POST', path, headers, body: body() });
  };

  describe('a path', () => {
    it('without the name of a repo is not found', async () => {
      for (const repo of noRepo) {
        for (const route of ['objects/batch', 'verify']) {
          const answer = await post(`/${tenant.tenant}/${repo}/info/lfs/${route}`);
          expectLfsError(answer, 404, /^Repository not found/);
        }
      }
    });

    it('without the name of a tenant is not found', async () => {
      for (const name of noTenant) {
        const answer = await post(`/${name}/game/info/lfs/objects/batch`);
        expectLfsError(answer, 404, /^Repository not found/);
      }
    });

    it('that climbs, has a part too many, or one too few, is no route', async () => {
      const own = tenant.tenant;
      const paths = [
        ...[`/${own}/a/b/info/lfs/objects/batch`, `/${own}/info/lfs/objects/batch`],
        ...[`/${own}/game/../../v1/info/lfs/objects/batch`, `//game/info/lfs/objects/batch`],
        ...[`/${own}//info/lfs/objects/batch`, `/${own}/game/info/lfs/objects/batch/`],
        ...[`/${own}/game/info/lfs/objects/batch/x`, `/${own}/game/info%2flfs/objects/batch`],
      ];
      for (const path of paths) expect((await post(path)).status, path).toBe(404);
    });

    it.each(['a', 'Game', 'a.b', 'a_b', 'a-', '0', 'x'.repeat(100), 'git', 'a%2eb', '%61'])(
      'may name the repo %s',
      async (repo) => {
        objectsIn(await post(`/${tenant.tenant}/${repo}/info/lfs/objects/batch`));
        objectsIn(await post(`/${tenant.tenant}/${repo}.git/info/lfs/objects/batch`));
      },
    );

    it('means one repo with and without .git', async () => {
      const object = objectOf(10);
      await push(api(), { ...tenant, repo: 'game.git' }, [object]);
      for (const [repo, isThere] of [
        ['game', true],
        ['game.git', true],
        ['game2', false],
        ['gam', false],
      ] as const) {
        const { actions } = await ask(api(), { ...tenant, repo }, 'download', object);
        expect(actions?.download !== undefined, repo).toBe(isThere);
      }
    });

    it('in another case says which repo is there, to those who may know of it, and a push makes no second one', async () => {
      const own = await api().newTenant();
      const object = objectOf(10);
      const create = async (repo: string) =>
        expect((await api().manage('POST', `/v1/tenants/${own.tenant}/repos`, { repo })).status).toBe(201);
      await create('Game');
      await push(api(), { ...own, repo: 'Game' }, [object]);
      const says = new RegExp(
        `^Repo ${own.tenant}/GAME doesn't exist, but ${own.tenant}/Game does\\. .* repo create`,
      );
      const sent = (operation: string, token: string, place = { ...own, repo: 'GAME.git' }) =>
        postBatch(api(), place, { operation, objects: [pointer(object)] }, basic(token));
      for (const operation of ['upload', 'download'])
        expectLfsError(await sent(operation, own.writeToken), 404, says);
      const limited = await api().newToken(own.tenant, { scope: 'write', repos: ['GAME'] });
      const [missing] = objectsIn(await sent('download', limited.token));
      expect(missing?.error?.message).toMatch(/^Object not found\. Run git lfs/);
      expectLfsError(await sent('upload', tenant.writeToken), 404, /^Repository not found/);
      await create('GAME');
      expect(objectsIn(await sent('upload', own.writeToken))[0]).toHaveProperty('actions.upload');
    });

    it('of a verify link is that of the repo', async () => {
      const own = await api().newTenant();
      for (const repo of ['Game.git', 'Game']) {
        const { verify } = await admitted(api(), { ...own, repo }, objectOf(5));
        expect(verify.href).toBe(`${api().target.url}/${own.tenant}/Game.git/info/lfs/verify`);
      }
    });

    it('that can not be decoded is refused', async () => {
      for (const repo of ['%', '%zz', '%ff', '%c3%28']) {
        const answer = await post(`/${tenant.tenant}/${repo}/info/lfs/objects/batch`);
        expect([400, 404], repo).toContain(answer.status);
      }
    });
  });
}
