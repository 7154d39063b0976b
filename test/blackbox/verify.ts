import { beforeAll, describe, expect, it } from 'vitest';
import { type Api, basic, bearer } from './api.ts';
import { expectLfsError } from './errors.ts';
import {
  type Action,
  admitted,
  lfsType,
  newOid,
  objectOf,
  type Place,
  pointer,
  postVerify,
  put,
} from './lfs.ts';

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
      place = { ...(await api().newTenant()), repo: 'game' };
      ({ upload, verify } = await admitted(api(), place, object));
    });

    it('of what has not arrived is a 404', async () => {
      expectLfsError(await postVerify(api(), verify, pointer(object)), 404, /did not arrive/);
    });

    it('of what has arrived is a 200, as often as it is asked', async () => {
      expect((await put(api(), upload, object.content)).status).toBe(200);
      for (let time = 0; time < 3; time += 1) {
        const answer = await postVerify(api(), verify, { ...pointer(object), more: true });
        expect(answer.status, answer.text).toBe(200);
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
      const elsewhere = { ...(await api().newTenant()), repo: 'game' };
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

    it('of a wrong media type is a 415, for whom it can not answer a 406, of too much a 413', async () => {
      const send = (headers: Record<string, string>, body: unknown = pointer(object)) =>
        postVerify(api(), verify, body, headers);
      expectLfsError(await send({ 'content-type': 'application/json' }), 415);
      expectLfsError(await send({ accept: 'text/html' }), 406);
      expectLfsError(await send({}, ' '.repeat(1024 * 1024 + 1)), 413);
      expect((await send({ 'content-type': `${lfsType}; charset=utf-8` })).status).toBe(200);
    });
  });
}
