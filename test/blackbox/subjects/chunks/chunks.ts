import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Answer, Api } from '../../api.ts';
import { expectLfsError, expectStatus, jsonOf } from '../../api.ts';
import {
  type Action,
  lfsHeaders,
  newOid,
  objectOf,
  objectsIn,
  type Place,
  pointer,
  postBatch,
  put,
} from '../../lfs.ts';
import type { Subject } from '../../subject.ts';

const gib = 1024 ** 3;
/** Its 81st chunk, the last, has 1,000 bytes. Nobody sends the others. */
const size = 5 * gib + 1000;
const last = 80;

const sha256Of = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const transferOf = (answer: Answer) => z.object({ transfer: z.string() }).parse(jsonOf(answer)).transfer;

interface Begun {
  readonly place: Place;
  readonly oid: string;
  readonly action: Action;
}

/** How clients upload files that one PUT can't carry. What becomes of all chunks is tested elsewhere: it takes 5 GiB. */
function chunkTests(api: () => Api): void {
  const ask = (place: Place, objects: readonly { oid: string; size: number }[]) =>
    postBatch(api(), place, { operation: 'upload', transfers: ['lfs-quota', 'basic'], objects });

  async function begin(place: Place, oid: string): Promise<Action> {
    const [object] = objectsIn(await ask(place, [{ oid, size }]));
    if (!object?.actions?.upload) throw new Error(`Not admitted: ${JSON.stringify(object?.error)}`);
    return object.actions.upload;
  }

  const beginAnew = async () => {
    const [place, oid] = [await api().newPlace(), newOid()];
    return { place, oid, action: await begin(place, oid) };
  };

  // A server's disk promises three times the size of each, so the tests have only these two.
  let begun: Promise<readonly [Begun, Begun]> | undefined;
  const uploads = () => {
    begun ??= (async () => [await beginAnew(), await beginAnew()] as const)();
    return begun;
  };

  function call(action: Action, body?: object, header = action.header): Promise<Answer> {
    expect(action.href.startsWith(`${api().target.url}/`), action.href).toBe(true);
    const own = Object.entries(header ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
    return api().send({
      method: body ? 'POST' : 'GET',
      path: action.href.slice(api().target.url.length),
      headers: { ...lfsHeaders, ...Object.fromEntries(own) },
      ...(body && { body: JSON.stringify(body) }),
    });
  }

  it('are offered to a client that can, and others are told what to run', async () => {
    const [{ place, oid }] = await uploads();
    const [large, small] = [{ oid, size }, objectOf(10)];
    const answer = await ask(place, [large, pointer(small)]);
    expect(transferOf(answer)).toBe('lfs-quota');
    const [chunked, plain] = objectsIn(answer).map(({ actions }) => actions?.upload);
    const token = { 'Lfs-Quota-Upload': expect.stringMatching(/^lfsc_[A-Za-z0-9]{40}$/) };
    expect(chunked).toEqual({
      href: expect.stringMatching(`/${place.tenant}/game.git/info/lfs/chunks/${large.oid}/[0-9a-f]{32}$`),
      header: token,
      expires_in: 86_400,
    });
    expect((await put(api(), plain as Action, small.content)).status).toBe(200);
    const other = await postBatch(api(), place, { operation: 'upload', objects: [large] });
    expect(transferOf(other)).toBe('basic');
    expect(objectsIn(other)[0]?.error).toEqual({
      code: 422,
      message: expect.stringContaining('lfs-quota connect'),
    });
  });

  it('arrive one by one, as they were announced, and are gone on with', async () => {
    const [{ place, oid, action: first }] = await uploads();
    const nothing = { stored: [], proven: { chunks: 0, sha256State: null }, unproven: [] };
    const chunkBytes = 64 * 1024 ** 2;
    expect(jsonOf(await call(first))).toEqual({ state: 'open', size, chunkBytes, failure: null, ...nothing });
    const content = objectOf(1000).content;
    const wanted = [{ chunk: last, sha256: sha256Of(content) }];
    const asked = jsonOf(await call(first, { stored: [], wanted })) as { urls: Action[] };
    expect(asked).toMatchObject({ state: 'open', urls: [{ chunk: last }], unproven: 81 });
    const [url] = asked.urls;
    if (!url) throw new Error('No URL.');
    expect((await put(api(), url, objectOf(1000).content)).status).toBe(400);
    expect((await put(api(), url, content)).status).toBe(200);
    const second = await begin(place, oid);
    expect(second.href).toBe(first.href);
    const stored = [[last, last]];
    for (const action of [first, second])
      expect(jsonOf(await call(action))).toMatchObject({ state: 'open', stored, unproven: stored });
    const other = [{ chunk: last, sha256: newOid() }];
    const refused = await call(second, { stored: [], wanted: other });
    expect(jsonOf(refused)).toMatchObject({ state: 'wrong', urls: [] });
    // Its chunks still count for it.
    const [again] = objectsIn(await ask(place, [{ oid, size }]));
    expect(again?.error).toMatchObject({ code: 409, message: expect.stringMatching(/Push again after/) });
  });

  it('get no more URLs while pushes are suspended', async () => {
    const [{ place, action }] = await uploads();
    const wanted = { stored: [], wanted: [{ chunk: last, sha256: newOid() }] };
    const set = (suspended: string | null) =>
      api().manage('PATCH', `/v1/tenants/${place.tenant}`, { suspended });
    expectStatus(await set('pushes'), 200);
    expectLfsError(await call(action, wanted), 403, /^Uploads to .* are suspended/);
    expectStatus(await call(action), 200);
    expectStatus(await set(null), 200);
    expectStatus(await call(action, wanted), 200);
  });

  it('are unknown without the token of their upload', async () => {
    const [{ place, action }, { action: other }] = await uploads();
    for (const header of [{}, other.header, { 'Lfs-Quota-Upload': place.writeToken }])
      for (const body of [undefined, { stored: [], wanted: [] }])
        expectLfsError(await call(action, body, header), 404, /Upload not found/);
  });
}

/** All that the suite asks of this subject. */
export const chunksSubject: Subject = {
  callers: {
    'GET /{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}': 'chunks',
    'POST /{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}': 'chunks',
  },
  tests: (api) => {
    describe('uploads in chunks', () => chunkTests(api));
  },
};
