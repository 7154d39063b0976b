import { createHash, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Api,
  allPages,
  basic,
  bearer,
  bodyOf,
  expectLfsError,
  expectProblem,
  expectStatus,
  jsonOf,
  pageQuery,
} from '../../api.ts';
import { batchPath, lfsHeaders, objectOf, push, serves } from '../../lfs.ts';
import type { Subject } from '../../subject.ts';
import { holeTests } from './holes.ts';
import { importTests } from './imported.ts';
import { partTests } from './parts.ts';
import { FilesPlace, sevens } from './place.ts';
import { prefixTests } from './prefixes.ts';
import { shownTests } from './shown.ts';

const pageShape = z.strictObject({
  files: z.array(z.strictObject({ name: z.string(), bytes: z.int(), storedAt: z.iso.datetime() })),
  nextCursor: z.string().nullable(),
});
const deletedShape = z.strictObject({
  name: z.string().optional(),
  prefix: z.string().optional(),
  fileCount: z.int(),
  bytes: z.int(),
  nextCursor: z.null(),
});
const downloadShape = z.strictObject({
  name: z.string(),
  state: z.enum(['download', 'missing', 'deleted']),
  url: z.url().optional(),
  bytes: z.int().optional(),
  expiresAt: z.iso.datetime().optional(),
});
const downloadsShape = z.strictObject({ downloads: z.array(downloadShape) });

const codeOf = (text: string) => z.object({ code: z.string() }).parse(JSON.parse(text)).code;

function kindTests(api: () => Api): void {
  const lfs = (place: FilesPlace, below: string, body: object) =>
    api().send({
      method: 'POST',
      path: `/${place.own.tenant}/${place.repo}/info/lfs/${below}`,
      headers: { ...lfsHeaders, ...basic(place.own.writeToken) },
      body: JSON.stringify(body),
    });

  it('is shown, and none of another kind', async () => {
    const place = await FilesPlace.of(api());
    const path = `/v1/tenants/${place.own.tenant}/repos`;
    expect(jsonOf(await api().manage('GET', `${path}/media`))).toMatchObject({ kind: 'files' });
    const repos = z
      .object({ repos: z.array(z.looseObject({})) })
      .parse(jsonOf(await api().manage('GET', path)));
    expect(repos.repos).toMatchObject([{ repo: 'media', kind: 'files' }]);
    const again = await api().manage('POST', path, { repo: 'media' });
    expect([again.status, codeOf(again.text)]).toEqual([409, 'repo-exists']);
    expectProblem(await api().manage('POST', path, { repo: 'b', kind: 'blobs' }), 422);
  });

  it('keeps Git LFS out of a repo of files', async () => {
    const place = await FilesPlace.of(api());
    const object = { oid: 'a'.repeat(64), size: 1 };
    for (const operation of serves('lfs') ? ['upload', 'download'] : [])
      expectLfsError(await lfs(place, 'objects/batch', { operation, objects: [object] }), 409, /kind files/);
    if (serves('locks')) expectLfsError(await lfs(place, 'locks', { path: 'a' }), 409, /kind files/);
    if (serves('lfs') && serves('downloads'))
      expectLfsError(await lfs(place, 'objects/copies', {}), 409, /kind files/);
    const managed: [string, string, object?][] = [['DELETE', `objects/${object.oid}`]];
    if (serves('gc')) managed.push(['POST', 'gc', {}]);
    for (const [method, below, body] of managed) {
      const answer = await api().manage(method, place.path(below), body);
      expect([answer.status, codeOf(answer.text)]).toEqual([409, 'wrong-kind']);
    }
    if (!serves('downloads')) return;
    const published = await api().manage('PATCH', place.path('').slice(0, -1), {
      publicRead: { monthlyLimitBytes: 1 },
    });
    expect([published.status, codeOf(published.text)]).toEqual([409, 'wrong-kind']);
  });

  it('keeps the files API out of a repo for Git LFS, and of none', async () => {
    const own = await api().newPlace();
    if (serves('lfs')) await push(api(), own, [objectOf(10)]);
    else await api().manage('POST', `/v1/tenants/${own.tenant}/repos`, { repo: own.repo });
    const body = { files: [{ name: 'a', bytes: 1 }] };
    const ask = (repo: string, method: string, below: string, sent?: object) =>
      api().as(bearer(own.writeToken), method, `/v1/tenants/${own.tenant}/repos/${repo}/${below}`, sent);
    await expect
      .poll(async () => codeOf((await ask('game', 'POST', 'uploads', body)).text))
      .toBe('wrong-kind');
    for (const [method, below, sent] of [
      ['POST', `uploads/${'0'.repeat(32)}`, { name: 'a' }],
      ['DELETE', `uploads/${'0'.repeat(32)}`],
      ['GET', 'files'],
      ['GET', 'files/usage'],
      ['DELETE', 'files?name=a'],
      ['POST', 'downloads', { files: [{ name: 'a' }] }],
    ] as const) {
      const wrong = await ask('game', method, below, sent);
      expect([wrong.status, codeOf(wrong.text)]).toEqual([409, 'wrong-kind']);
      const absent = await ask('none', method, below, sent);
      expect([absent.status, codeOf(absent.text)]).toEqual([404, 'repo-not-found']);
    }
  });

  it.runIf(serves('lfs'))('is given to no repo to which somebody pushes', async () => {
    const own = await api().newPlace();
    const { oid, size } = objectOf(10);
    expectStatus(
      await api().send({
        method: 'POST',
        path: batchPath(own),
        headers: { ...lfsHeaders, ...basic(own.writeToken) },
        body: JSON.stringify({ operation: 'upload', objects: [{ oid, size }] }),
      }),
      200,
    );
    const made = await api().manage('POST', `/v1/tenants/${own.tenant}/repos`, {
      repo: own.repo,
      kind: 'files',
    });
    expect([made.status, codeOf(made.text)]).toEqual([409, 'repo-exists']);
  });
}

function uploadTests(api: () => Api): void {
  it('is signed with its type, and stored only with it', async () => {
    const place = await FilesPlace.of(api());
    const upload = await place.one({ name: 'a/1.png', bytes: 10, contentType: 'image/png' });
    expect(upload).toMatchObject({ state: 'upload', headers: { 'content-type': 'image/png' } });
    expect(Date.parse(upload.expiresAt ?? '') - Date.now()).toBeLessThanOrEqual(300_000);
    expect(await place.put(upload, sevens(10), { ...upload.headers, 'content-type': 'text/html' })).toBe(403);
    expect(await place.put(upload, sevens(10))).toBe(200);
  });

  it('tells what has its name', async () => {
    const place = await FilesPlace.of(api());
    const content = sevens(700);
    const sha256 = createHash('sha256').update(content).digest('hex');
    const hashed = await place.one({ name: 's', bytes: 700, sha256 });
    expect(await place.put(hashed, content)).toBe(200);
    const taken = { state: 'name-taken', storedBytes: 700 };
    expect(await place.one({ name: 's', bytes: 700, sha256 })).toEqual({ name: 's', state: 'stored' });
    expect(await place.one({ name: 's', bytes: 700 })).toEqual({ name: 's', ...taken });
    expect(await place.one({ name: 's', bytes: 1 })).toEqual({ name: 's', ...taken });
    const other = { name: 's', bytes: 700, sha256: '0'.repeat(64) };
    const { uploadId, allUpload, uploads } = await place.request([other]);
    expect({ uploadId, allUpload, uploads }).toEqual({
      uploadId: null,
      allUpload: false,
      uploads: [{ name: 's', ...taken }],
    });
  });

  it.each<[number, string, object]>([
    [
      413,
      'too-many-files',
      { files: Array.from({ length: 101 }, (_, index) => ({ name: `${index}`, bytes: 1 })) },
    ],
    [413, 'body-too-large', { files: [{ name: 'x'.repeat(140_000), bytes: 1 }] }],
    [422, 'invalid-body', { files: [] }],
    [
      422,
      'invalid-body',
      {
        files: [
          { name: 'a', bytes: 1 },
          { name: 'a', bytes: 1 },
        ],
      },
    ],
    [422, 'invalid-body', { files: [{ name: 'a', bytes: 5_001 * 1024 ** 3 }] }],
    [422, 'invalid-body', { files: [{ name: 'a', bytes: 1 }], lifetimeSeconds: 59 }],
    [422, 'invalid-body', { files: [{ name: 'a', bytes: 1, contentType: 'text/html; x=y' }] }],
    [422, 'invalid-body', { files: [{ name: 'a', bytes: 1, sha256: 'AB' }] }],
  ])('is refused with %s %s', async (status, code, body) => {
    const place = await FilesPlace.of(api());
    const answer = await place.ask('POST', 'uploads', { body });
    expect([answer.status, codeOf(answer.text)]).toEqual([status, code]);
  });

  it('can be asked for by 100 names of 800 bytes', async () => {
    const place = await FilesPlace.of(api());
    const files = Array.from({ length: 100 }, (_, index) => ({
      // Some stores have no more between two slashes.
      name: `${String(index).padStart(3, '0')}${`${'n'.repeat(199)}/`.repeat(4).slice(3)}`
        .slice(0, -1)
        .padEnd(800, 'n'),
      bytes: 1,
    }));
    const { uploads, uploadId, allUpload } = await place.request(files);
    expect([uploads.map(({ name }) => name), allUpload]).toEqual([files.map(({ name }) => name), true]);
    expectStatus(await place.cancel(uploadId ?? ''), 202);
    expect(await place.atRest()).toBe(0);
  });

  it('is the same when it is repeated with its key', async () => {
    const place = await FilesPlace.of(api());
    await place.store('taken', sevens(1));
    const key = { 'idempotency-key': randomUUID() };
    const files = [
      { name: 'k', bytes: 600_000 },
      { name: 'taken', bytes: 1 },
      { name: 'l', bytes: 600_000 },
    ];
    const first = await place.request(files, key);
    expect(first.uploads.map(({ state }) => state)).toEqual(['upload', 'name-taken', 'over-limit']);
    expect(await place.request(files, key)).toEqual(first);
    expect(await place.put(first.uploads[0] as never, sevens(600_000))).toBe(200);
    expect(await place.request(files, key)).toEqual(first);
    const other = await place.ask('POST', 'uploads', {
      body: { files: files.slice(1) },
      who: { ...bearer(place.own.writeToken), ...key },
    });
    expect([other.status, codeOf(other.text)]).toEqual([422, 'idempotency-key-reused']);
    const storm = { 'idempotency-key': randomUUID() };
    const same = await Promise.all(
      Array.from({ length: 5 }, () => place.request([{ name: 'same', bytes: 10 }], storm)),
    );
    for (const each of same) expect(each).toEqual(same[0]);
    expect(await place.atRest()).toBe(600_001);
  });

  it('is canceled, and what has arrived stays', async () => {
    const place = await FilesPlace.of(api());
    const { uploads, uploadId } = await place.request([
      { name: 'there', bytes: 100 },
      { name: 'gone', bytes: 900_000 },
      { name: 'other', bytes: 10 },
    ]);
    const [there, gone, other] = uploads;
    expect(await place.put(there as never, sevens(100))).toBe(200);
    expect(bodyOf(await place.cancel(uploadId ?? '', '?name=gone'), 202, z.looseObject({}))).toEqual({
      uploadId,
      fileCount: 1,
      bytes: 900_000,
    });
    await expect
      .poll(async () => (await place.one({ name: `next/${randomUUID()}`, bytes: 850_000 })).state)
      .toBe('upload');
    expect(await place.put(gone as never, sevens(900_000))).toBe(412);
    expect(await place.put(other as never, sevens(10))).toBe(200);
    expect(await place.atRest()).toBe(110);
    expectProblem(await place.cancel('0'.repeat(32)), 404);
    expectProblem(await place.cancel('nonsense'), 404);
    expectProblem(await place.cancel(uploadId ?? '', '?name=another'), 404);
  });

  it('is confirmed once it is stored', async () => {
    const place = await FilesPlace.of(api());
    const { uploads, uploadId } = await place.request([{ name: 'a', bytes: 10 }]);
    const confirm = () => place.ask('POST', `uploads/${uploadId}`, { body: { name: 'a' } });
    const early = await confirm();
    expect([early.status, codeOf(early.text)]).toEqual([404, 'file-not-stored']);
    expect(await place.put(uploads[0] as never, sevens(10))).toBe(200);
    expect(jsonOf(await confirm())).toEqual({ name: 'a', bytes: 10 });
  });

  it('obeys the limit of its repo', async () => {
    const place = await FilesPlace.of(api());
    expectStatus(await api().manage('PATCH', place.path('').slice(0, -1), { limitBytes: 100 }), 200);
    expect(await place.one({ name: 'a', bytes: 101 })).toMatchObject({
      state: 'over-limit',
      limit: 'repo',
      limitBytes: 100,
      shortBytes: 1,
    });
    await place.store('b', sevens(100));
    expect(await place.atRest()).toBe(100);
  });

  it('needs the write scope', async () => {
    const place = await FilesPlace.of(api());
    const who = bearer(place.own.readToken);
    const answer = await place.ask('POST', 'uploads', { body: { files: [{ name: 'a', bytes: 1 }] }, who });
    expect([answer.status, codeOf(answer.text)]).toEqual([403, 'scope-too-small']);
  });
}

function storedTests(api: () => Api): void {
  const names = ['a/1', 'a/2', 'b', 'ä', '\ufffd', '😀'];
  let place: FilesPlace;
  beforeAll(async () => {
    place = await FilesPlace.of(api());
    for (const [index, name] of names.entries()) await place.store(name, sevens(index + 1));
  });

  const list = (query: string) => place.ask('GET', `files?${query}`, { who: bearer(place.own.readToken) });
  const all = async (prefix = '', limit = 2) =>
    allPages(
      limit,
      async (cursor) =>
        bodyOf(
          await list(`prefix=${encodeURIComponent(prefix)}&${pageQuery(limit, cursor)}`),
          200,
          pageShape,
        ),
      ({ files }) => files,
    );

  it('are listed in the order of their bytes, by pages and by prefix', async () => {
    expect((await all()).map(({ name, bytes }) => [name, bytes])).toEqual(
      names.map((name, at) => [name, at + 1]),
    );
    expect((await all('a/')).map(({ name }) => name)).toEqual(['a/1', 'a/2']);
    expect(await all('zzz')).toEqual([]);
    expect(await place.usage('a/')).toEqual({ prefix: 'a/', fileCount: 2, bytes: 3, nextCursor: null });
  });

  it.each(['prefix=%00', 'prefix=/', 'limit=0', 'cursor=x', 'prefix=b&cursor=c61', 'name=a'])(
    'are not listed by ?%s',
    async (query) => {
      expectProblem(await list(query), 422);
    },
  );

  it('are downloaded as attachments', async () => {
    const files = [{ name: 'a/1' }, { name: 'ä', saveAs: 'b "c".html' }, { name: 'none' }];
    const who = bearer(place.own.readToken);
    const answer = await place.ask('POST', 'downloads', { body: { files }, who });
    const { downloads } = bodyOf(answer, 200, downloadsShape);
    expect(downloads.map(({ name, state, bytes }) => [name, state, bytes])).toEqual([
      ['a/1', 'download', 1],
      ['ä', 'download', 4],
      ['none', 'missing', undefined],
    ]);
    const saved = ["attachment; filename*=UTF-8''1", "attachment; filename*=UTF-8''b%20%22c%22.html"];
    for (const [index, disposition] of saved.entries()) {
      const got = await api().follow(downloads[index]?.url ?? '', { method: 'GET' });
      expect([got.status, got.headers['content-disposition']]).toEqual([200, disposition]);
      expect(got.bytes).toEqual(sevens(downloads[index]?.bytes ?? 0));
    }
    const bad = { files: [{ name: 'a', saveAs: 'b/c' }] };
    expectProblem(await place.ask('POST', 'downloads', { body: bad, who }), 422);
    const many = { files: Array.from({ length: 101 }, () => ({ name: 'a' })) };
    expectProblem(await place.ask('POST', 'downloads', { body: many, who }), 413);
  });

  it('count towards the download limit', async () => {
    const other = await FilesPlace.of(api());
    await other.store('a', sevens(100));
    const path = `/v1/tenants/${other.own.tenant}`;
    expectStatus(await api().manage('PATCH', path, { downloadLimitBytes: 150 }), 200);
    const ask = () => other.ask('POST', 'downloads', { body: { files: [{ name: 'a' }] } });
    const isMetered = serves('downloads');
    expectStatus(await ask(), 200);
    expectStatus(await ask(), isMetered ? 509 : 200);
    if (!isMetered) return;
    const month = z.object({ month: z.looseObject({}) });
    expect(month.parse(jsonOf(await api().manage('GET', `${path}/downloads`))).month).toMatchObject({
      bytes: 100,
      objects: 1,
    });
  });

  it('can be downloaded and deleted while uploads are suspended, of which not even the operator gets one', async () => {
    const other = await FilesPlace.of(api());
    await other.store('a', sevens(10));
    const path = `/v1/tenants/${other.own.tenant}`;
    expectStatus(await api().manage('PATCH', path, { suspended: 'pushes' }), 200);
    const body = { files: [{ name: 'b', bytes: 1 }] };
    for (const who of [bearer(other.own.writeToken), bearer(api().target.adminToken)])
      expectProblem(await other.ask('POST', 'uploads', { body, who }), 403, /^Uploads to .* are suspended/);
    expectStatus(await other.ask('POST', 'downloads', { body: { files: [{ name: 'a' }] } }), 200);
    expectStatus(await other.ask('DELETE', 'files?name=a'), 202);
    expectStatus(await api().manage('PATCH', path, { suspended: null }), 200);
    expectStatus(await other.ask('POST', 'uploads', { body }), 200);
  });

  it('are deleted by name and by prefix, and audited', async () => {
    const other = await FilesPlace.of(api());
    for (const name of ['x/1', 'x/2', 'y']) await other.store(name, sevens(10));
    const remove = async (query: string, status: number) =>
      bodyOf(await other.ask('DELETE', `files?${query}`), status, deletedShape);
    const both = { prefix: 'x/', fileCount: 2, bytes: 20, nextCursor: null };
    expect(await remove('prefix=x/&dryRun=true', 200)).toEqual(both);
    expect(await other.usage()).toMatchObject({ fileCount: 3 });
    expect(await remove('prefix=x/', 202)).toEqual(both);
    expect(await remove('name=y', 202)).toEqual({ name: 'y', fileCount: 1, bytes: 10, nextCursor: null });
    await expect.poll(() => other.usage()).toMatchObject({ fileCount: 0, bytes: 0 });
    const gone = await other.ask('DELETE', 'files?name=y');
    expect([gone.status, codeOf(gone.text)]).toEqual([404, 'file-not-found']);
    for (const query of ['', '?name=y&prefix=x', '?prefix=', '?dryRun=yes&name=y', '?name=y&cursor=c61'])
      expectProblem(await other.ask('DELETE', `files${query}`), 422);
    // For a day something keeps its name.
    expect(await other.one({ name: 'y', bytes: 5 })).toEqual({
      name: 'y',
      state: 'name-taken',
      storedBytes: 0,
    });
    const { downloads } = bodyOf(
      await other.ask('POST', 'downloads', { body: { files: [{ name: 'y' }] } }),
      200,
      downloadsShape,
    );
    expect(downloads).toEqual([{ name: 'y', state: 'deleted' }]);
    expect(await other.atRest()).toBe(0);
    const entries = z.object({ entries: z.array(z.looseObject({})) });
    const audit = await api().manage('GET', `/v1/tenants/${other.own.tenant}/audit?action=file.delete`);
    expect(entries.parse(jsonOf(audit)).entries).toContainEqual(
      expect.objectContaining({
        action: 'file.delete',
        target: { repo: 'media' },
        asked: { prefix: 'x/' },
        outcome: 'succeeded',
        after: { fileCount: 2, bytes: 20 },
      }),
    );
  });

  it('end with their repo', async () => {
    const other = await FilesPlace.of(api());
    await other.store('a', sevens(10));
    expectStatus(await api().manage('DELETE', other.path('').slice(0, -1)), 202);
    expectProblem(await other.ask('GET', 'files'), 404);
    await expect.poll(async () => (await other.counted())?.storedBytes).toBe(0);
  });
}

/** All that the suite asks of this subject. */
export const filesSubject: Subject = {
  callers: {
    'POST /v1/tenants/{tenant}/repos/{repo}/uploads': 'writer',
    'POST /v1/tenants/{tenant}/repos/{repo}/uploads/{uploadId}': 'writer',
    'DELETE /v1/tenants/{tenant}/repos/{repo}/uploads/{uploadId}': 'writer',
    'GET /v1/tenants/{tenant}/repos/{repo}/files': 'reader',
    'GET /v1/tenants/{tenant}/repos/{repo}/files/usage': 'reader',
    'DELETE /v1/tenants/{tenant}/repos/{repo}/files': 'writer',
    'POST /v1/tenants/{tenant}/repos/{repo}/downloads': 'reader',
  },
  tests: (api) => {
    describe('the kind of a repo', () => kindTests(api));
    describe('an upload of a file', () => uploadTests(api));
    describe('files', () => storedTests(api));
    describe('a token for files that start with something', () => prefixTests(api));
    describe('files are shown', () => shownTests(api));
    holeTests(api);
    importTests(api);
    partTests(api);
  },
};
