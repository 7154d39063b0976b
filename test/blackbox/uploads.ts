import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Answer, type Api, basic, bearer, expectLfsError, expectStatus, type Sent } from './api.ts';
import {
  type Action,
  admitted,
  ask,
  batch,
  type LfsObject,
  lfsType,
  newOid,
  objectOf,
  type Place,
  pointer,
  postVerify,
  push,
  put,
} from './lfs.ts';

const base64Sha256 = (content: Uint8Array) => createHash('sha256').update(content).digest('base64');

/** Uploads with the links that a batch gave: they take what was declared, and nothing else. */
export function uploadTests(api: () => Api): void {
  /** What was sent must be refused, leave nothing behind, and not look to a client as if it had succeeded. */
  const expectRefused = async (place: Place, object: { oid: string; size: number }, sent: Answer) => {
    expect(sent.status, sent.text).toBeGreaterThanOrEqual(400);
    expect(sent.status, sent.text).toBeLessThan(500);
    expect(sent.status, 'git-lfs takes a 422 for a success').not.toBe(422);
    expect((await ask(api(), place, 'download', object)).error?.code).toBe(404);
  };

  describe('an upload', () => {
    it('is offered with all that the client needs', async () => {
      const object = objectOf(100);
      const answer = await ask(api(), await api().newPlace(), 'upload', object);
      expect(answer).toEqual({
        ...pointer(object),
        authenticated: true,
        actions: {
          upload: {
            href: expect.stringContaining(object.oid),
            header: expect.objectContaining({ 'x-amz-checksum-sha256': base64Sha256(object.content) }),
            expires_in: expect.any(Number),
          },
          verify: {
            href: expect.stringMatching(/\/info\/lfs\/verify$/),
            header: { 'X-Lfs-Verify-Token': expect.stringMatching(/^lfsv_[A-Za-z0-9]{32,}$/) },
            expires_in: expect.any(Number),
          },
        },
      });
      // The client takes what expires within 5 s for expired.
      expect(answer.actions?.upload?.expires_in).toBeGreaterThan(60);
    });

    it('is to be verified if it is the last of its batch, or large', async () => {
      const place = await api().newPlace();
      const stored = objectOf(10);
      await push(api(), place, [stored]);
      const large = { oid: newOid(), size: 8 * 1024 ** 2 };
      const small = [objectOf(30), objectOf(20), objectOf(10)];
      const wanted = [large, ...small, stored].map(pointer);
      const answers = await batch(api(), place, 'upload', wanted);
      const actions = wanted.map(({ oid }) => Object.keys(answers.get(oid)?.actions ?? {}));
      expect(actions).toEqual([['upload', 'verify'], ['upload'], ['upload'], ['upload', 'verify'], []]);
    });

    it.each([0, 1, 100_000])('of %i bytes arrives, and is asked for no more', async (size) => {
      const place = await api().newPlace();
      const object = objectOf(size);
      await push(api(), place, [object]);
      expect(await ask(api(), place, 'upload', object)).toEqual(pointer(object));
      const { actions } = await ask(api(), place, 'download', object);
      const got = await api().follow(actions?.download?.href ?? '', { method: 'GET' });
      expect(got.bytes.equals(object.content)).toBe(true);
    });

    it('may be tried again with the same link, and with a new one', async () => {
      const place = await api().newPlace();
      const object = objectOf(50);
      const first = await admitted(api(), place, object);
      const second = await admitted(api(), place, object);
      for (const { upload, verify } of [first, second, first]) {
        expect((await put(api(), upload, object.content)).status).toBe(200);
        expect((await postVerify(api(), verify, pointer(object))).status).toBe(200);
      }
    });

    it('of a size that is not the stored object’s is refused at once', async () => {
      const place = await api().newPlace();
      const object = objectOf(50);
      await push(api(), place, [object]);
      const { error, actions } = await ask(api(), place, 'upload', { oid: object.oid, size: 51 });
      expect(error).toEqual({ code: 422, message: expect.stringMatching(/50 bytes.*51/) });
      expect(actions).toBe(undefined);
    });
  });

  describe('an upload that is not what was declared is refused', () => {
    const real = objectOf(1000);
    const lies: Readonly<Record<string, [declared: { oid: string; size: number }, sent: Partial<Sent>]>> = {
      'declared smaller than it is': [{ oid: real.oid, size: 1 }, { body: real.content }],
      'declared larger than it is': [{ oid: real.oid, size: 1001 }, { body: real.content }],
      'declared as nothing': [{ oid: real.oid, size: 0 }, { body: real.content }],
      'other bytes of the same number': [real, { body: objectOf(1000).content }],
      'other bytes under the checksum of the declared': [
        { oid: newOid(), size: 1000 },
        { body: real.content },
      ],
      'no bytes': [real, { body: '' }],
      'in chunks, without a length': [real, { body: real.content, chunked: true }],
    };

    it.each(Object.entries(lies))('%s', async (_name, [declared, sent]) => {
      const place = await api().newPlace();
      const { upload, verify } = await admitted(api(), place, declared);
      const headers = upload.header ?? {};
      const answer = await api().follow(upload.href, { method: 'PUT', headers, ...sent });
      await expectRefused(place, declared, answer);
      expect((await postVerify(api(), verify, pointer(declared))).status).toBe(404);
    });

    it.each([
      ['without its checksum', () => ({})],
      [
        'with another checksum',
        (other: LfsObject) => ({ 'x-amz-checksum-sha256': base64Sha256(other.content) }),
      ],
      ['with a checksum of another kind', () => ({ 'x-amz-checksum-crc32': 'AAAAAA==' })],
    ])('%s', async (_name, headersOf) => {
      const place = await api().newPlace();
      const other = objectOf(1000);
      const { upload } = await admitted(api(), place, real);
      for (const content of [other.content, real.content]) {
        const request = { method: 'PUT', headers: headersOf(other), body: content };
        await expectRefused(place, real, await api().follow(upload.href, request));
      }
    });

    it('under another key: of another tenant, repo or object', async () => {
      const [place, other] = [await api().newPlace(), await api().newPlace()];
      const { upload } = await admitted(api(), place, real);
      const own = `${place.tenant}/${place.repo}/${real.oid}`;
      const [free, oid] = [newOid(), real.oid];
      for (const target of [
        { place: other, key: `${other.tenant}/game/${oid}`, oid },
        { place: { ...place, repo: 'other' }, key: `${place.tenant}/other/${oid}`, oid },
        { place, key: `${place.tenant}/game/${free}`, oid: free },
        { place: other, key: `${place.tenant}/../${other.tenant}/game/${oid}`, oid },
      ]) {
        const href = upload.href.replace(own, target.key);
        expect(href).not.toBe(upload.href);
        const headers = upload.header ?? {};
        const answer = await api().follow(href, { method: 'PUT', headers, body: real.content });
        await expectRefused(target.place, { oid: target.oid, size: real.size }, answer);
      }
    });
  });
}

const badBodies = [
  ...['', '{', 'null', '[]', '7', '"x"', '['.repeat(1000)],
  ...[{}, { oid: newOid() }, { size: 1 }, { oid: 'x', size: 1 }, { oid: 'A'.repeat(64), size: 1 }],
  ...[-1, 0.5, 2 ** 53, '1', null, []].map((size) => ({ oid: newOid(), size })),
  ...[7, null, ['x'], '../../x'].map((oid) => ({ oid, size: 1 })),
];

/** What the client asks after each upload. It takes a 422 for a success, so that never comes. */
export function verifyTests(api: () => Api): void {
  describe('verify', () => {
    const object = objectOf(64);
    let place: Place;
    let verify: Action;
    let upload: Action;

    beforeAll(async () => {
      place = await api().newPlace();
      ({ upload, verify } = await admitted(api(), place, object));
    });

    it('of what has not arrived is a 404', async () => {
      expectLfsError(await postVerify(api(), verify, pointer(object)), 404, /isn't in the store/);
    });

    it('of what has arrived is a 200, as often as it is asked', async () => {
      expect((await put(api(), upload, object.content)).status).toBe(200);
      for (let time = 0; time < 3; time += 1) {
        expectStatus(await postVerify(api(), verify, { ...pointer(object), more: true }), 200);
      }
    });

    it.each([0, 63, 65, 5 * 1024 ** 3 + 1, Number.MAX_SAFE_INTEGER])(
      'of another size, %d, is a 409',
      async (size) => {
        expectLfsError(await postVerify(api(), verify, { oid: object.oid, size }), 409, /64 bytes/);
      },
    );

    it('needs no other credentials, and is not confused by any', async () => {
      for (const headers of [{}, basic(place.writeToken), bearer('nobody'), { authorization: 'a, b' }]) {
        expect((await postVerify(api(), verify, pointer(object), headers)).status).toBe(200);
      }
    });

    it('takes its token by Bearer or Basic too, as it was handed out before', async () => {
      const token = verify.header?.['X-Lfs-Verify-Token'] ?? '';
      for (const headers of [bearer(token), basic(token)]) {
        const old = { ...verify, header: headers };
        expect((await postVerify(api(), old, pointer(object))).status).toBe(200);
      }
    });

    it('of another object than the token is for is a 401', async () => {
      expectLfsError(await postVerify(api(), verify, { oid: newOid(), size: 64 }), 401);
    });

    it('with a token for something else is a 401', async () => {
      const elsewhere = await api().newPlace();
      const foreign = await admitted(api(), elsewhere, object);
      const besides = await admitted(api(), { ...place, repo: 'other' }, object);
      const tokens = [foreign, besides].map((links) => links.verify.header?.['X-Lfs-Verify-Token'] ?? '');
      for (const header of [
        ...tokens.map((token) => ({ 'X-Lfs-Verify-Token': token })),
        { 'X-Lfs-Verify-Token': place.writeToken },
        { 'X-Lfs-Verify-Token': '' },
        bearer(place.writeToken),
        basic(place.writeToken),
        bearer(api().target.adminToken),
        bearer(`lfsv_${'0'.repeat(40)}`),
        { authorization: '' },
      ]) {
        expectLfsError(await postVerify(api(), { ...verify, header }, pointer(object)), 401);
      }
    });

    it.each(badBodies)('of %.60j is a 400', async (body) => {
      expectLfsError(await postVerify(api(), verify, body), 400, /oid.*size/);
    });

    it('of any media type is read, for whom it can not answer a 406, of too much a 413', async () => {
      const send = (headers: Record<string, string>, body: unknown = pointer(object)) =>
        postVerify(api(), verify, body, headers);
      expectLfsError(await send({ accept: 'text/html' }), 406);
      expectLfsError(await send({}, ' '.repeat(1024 * 1024 + 1)), 413);
      for (const type of [`${lfsType}; charset=utf-8`, 'application/json', 'text/plain'])
        expect((await send({ 'content-type': type })).status, type).toBe(200);
    });
  });
}
