import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { contract } from '../../../../lambda/contract.ts';
import type { RouteContract } from '../../../../lambda/frame/contract/contract.ts';
import { type Answer, type Api, bearer, expectStatus, jsonOf } from '../../api.ts';
import { FilesPlace, sevens, usageShape } from './place.ts';

const listShape = z.looseObject({ files: z.array(z.looseObject({ name: z.string() })) });
const codeOf = (answer: Answer) => [
  answer.status,
  z.looseObject({ code: z.string() }).parse(JSON.parse(answer.text)).code,
];
const encoded = encodeURIComponent;

/** What a token for files that start with something reaches: these, and nothing else. */
export function prefixTests(api: () => Api): void {
  const own = 'users/7/';
  /** Names that it is not for: of others, of what looks like its own, and of none. */
  const others = [
    'users/8/a.png',
    'users/77/a.png',
    'users/7',
    'users/7a',
    'Users/7/a.png',
    'a.png',
    'x/users/7/a.png',
  ];
  const broken = ['users/8/../7/a.png', 'users/7/../8/a.png', 'users//7/a.png', 'users/7/cafe\u0301.png'];
  let place: FilesPlace;
  let who: Record<string, string>;
  const ask = (method: string, below: string, body?: object) =>
    place.ask(method, below, { who, ...(body && { body }) });
  const tokenFor = async (body: object) =>
    bearer((await api().newToken(place.own.tenant, { scope: 'write', ...body })).token);

  beforeAll(async () => {
    place = await FilesPlace.of(api());
    who = await tokenFor({ prefix: own, repos: [place.repo] });
    for (const name of ['users/7/a.png', 'users/7/b/c.png', ...others]) await place.store(name, sevens(10));
  });

  it('uploads, confirms, lists, sums up, downloads and deletes its own', async () => {
    const asked = { files: [{ name: 'users/7/new.png', bytes: 10 }] };
    const uploads = await ask('POST', 'uploads', asked);
    const {
      uploads: [upload],
      uploadId,
    } = z.looseObject({ uploads: z.array(z.any()), uploadId: z.string() }).parse(jsonOf(uploads));
    expect(await place.put(upload, sevens(10))).toBe(200);
    expectStatus(await ask('POST', `uploads/${uploadId}`, { name: 'users/7/new.png' }), 200);
    const listed = listShape.parse(jsonOf(await ask('GET', `files?prefix=${encoded(own)}`)));
    expect(listed.files.map(({ name }) => name)).toEqual([
      'users/7/a.png',
      'users/7/b/c.png',
      'users/7/new.png',
    ]);
    const deeper = usageShape.parse(jsonOf(await ask('GET', `files/usage?prefix=${encoded('users/7/b')}`)));
    expect([deeper.fileCount, deeper.bytes]).toEqual([1, 10]);
    const download = await ask('POST', 'downloads', { files: [{ name: 'users/7/a.png' }] });
    expect(jsonOf(download)).toMatchObject({ downloads: [{ state: 'download' }] });
    expectStatus(await ask('DELETE', `files?name=${encoded('users/7/new.png')}`), 202);
    expectStatus(await ask('DELETE', `files?prefix=${encoded('users/7/zz')}`), 202);
  });

  it.each(others)('reaches nothing of %s by any request', async (name) => {
    const files = [{ name: 'users/7/a.png' }, { name }];
    const requests: [string, string, object?][] = [
      ['POST', 'uploads', { files: files.map((file) => ({ ...file, bytes: 10 })) }],
      ['POST', `uploads/${'0'.repeat(32)}`, { name }],
      ['DELETE', `uploads/${'0'.repeat(32)}?name=${encoded(name)}`],
      ['GET', `files?prefix=${encoded(name)}`],
      ['GET', `files/usage?prefix=${encoded(name)}`],
      ['DELETE', `files?name=${encoded(name)}`],
      ['DELETE', `files?name=${encoded(name)}&dryRun=true`],
      ['DELETE', `files?prefix=${encoded(name)}`],
      ['POST', 'downloads', { files }],
    ];
    for (const [method, below, body] of requests) {
      const answer = await ask(method, below, body);
      expect([below, ...codeOf(answer)]).toEqual([below, 403, 'beyond-prefix']);
      expect(answer.text).toContain('only for files that start with users/7/');
    }
    const stays = await place.ask('POST', 'downloads', { body: { files: [{ name }] } });
    expect(jsonOf(stays)).toMatchObject({ downloads: [{ state: 'download' }] });
  });

  it('lists and deletes by no shorter prefix, and by none, as a part would be taken for all', async () => {
    for (const prefix of ['users/', 'users/7', 'u', 'users/8/', 'Users/7/']) {
      for (const [method, below] of [
        ['GET', 'files'],
        ['GET', 'files/usage'],
        ['DELETE', 'files'],
      ] as const)
        expect(codeOf(await ask(method, `${below}?prefix=${encoded(prefix)}`))).toEqual([
          403,
          'beyond-prefix',
        ]);
    }
    expect(codeOf(await ask('GET', 'files'))).toEqual([403, 'beyond-prefix']);
    expect(codeOf(await ask('GET', 'files/usage?prefix='))).toEqual([403, 'beyond-prefix']);
    // A cursor of another prefix.
    const { nextCursor } = jsonOf(await place.ask('GET', 'files?limit=1')) as { nextCursor: string };
    const onward = await ask('GET', `files?prefix=${encoded(own)}&cursor=${nextCursor}`);
    expect(codeOf(onward)).toEqual([422, 'invalid-query']);
  });

  it.each(broken)('takes %s for no name', async (name) => {
    expectStatus(await ask('POST', 'uploads', { files: [{ name, bytes: 1 }] }), 422);
    expectStatus(await ask('DELETE', `files?name=${encoded(name)}`), 422);
    expectStatus(await ask('POST', 'downloads', { files: [{ name }] }), 422);
  });

  it('cancels no uploads of others, even if it knows their id, nor some of several', async () => {
    const { uploadId } = await place.request([
      { name: 'users/8/late', bytes: 10 },
      { name: 'users/7/late', bytes: 10 },
    ]);
    expect(codeOf(await ask('DELETE', `uploads/${uploadId}`))).toEqual([404, 'upload-not-found']);
    const other = `uploads/${uploadId}?name=${encoded('users/8/late')}`;
    expect(codeOf(await ask('DELETE', other))).toEqual([403, 'beyond-prefix']);
    const mine = await ask('DELETE', `uploads/${uploadId}?name=${encoded('users/7/late')}`);
    expect(jsonOf(mine)).toMatchObject({ fileCount: 1, bytes: 10 });
    expectStatus(await place.cancel(uploadId ?? ''), 202);
  });

  it('without a slash at its end is for all that start with it', async () => {
    who = await tokenFor({ prefix: 'users/7' });
    const listed = listShape.parse(jsonOf(await ask('GET', `files?prefix=${encoded('users/7')}`)));
    expect(listed.files.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['users/7', 'users/7/a.png', 'users/77/a.png', 'users/7a']),
    );
    who = await tokenFor({ prefix: own, repos: [place.repo] });
  });

  it('reads only, if its scope is read', async () => {
    const reads = await tokenFor({ scope: 'read', prefix: own });
    const file = { name: 'users/7/x', bytes: 1 };
    const refused = await place.ask('POST', 'uploads', { who: reads, body: { files: [file] } });
    expect(codeOf(refused)).toEqual([403, 'scope-too-small']);
    const listed = await place.ask('GET', `files?prefix=${encoded(own)}`, { who: reads });
    // What was deleted a moment ago may be listed still.
    expect(listShape.parse(jsonOf(listed)).files.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['users/7/a.png', 'users/7/b/c.png']),
    );
  });

  it('of one repo is for no other', async () => {
    const other = `/v1/tenants/${place.own.tenant}/repos/other/files?prefix=${encoded(own)}`;
    expect(codeOf(await api().as(who, 'GET', other))).toEqual([404, 'repo-not-found']);
  });

  it('is taken by no route but these', () => {
    const all: [string, RouteContract][] = Object.entries(contract);
    const taken = all.flatMap(([route, { keepsToPrefix }]) => (keepsToPrefix ? [route] : []));
    const repo = '/v1/tenants/{tenant}/repos/{repo}';
    expect(taken.sort()).toEqual(
      [
        `DELETE ${repo}/files`,
        `DELETE ${repo}/uploads/{uploadId}`,
        `GET ${repo}/files`,
        `GET ${repo}/files/usage`,
        'GET /v1/session',
        `POST ${repo}/downloads`,
        `POST ${repo}/uploads`,
        `POST ${repo}/uploads/{uploadId}`,
      ].sort(),
    );
  });
}
