import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Api } from './api.ts';
import type { Answer, Sent } from './exchange.ts';
import {
  admitted,
  ask,
  batch,
  type LfsObject,
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
  const newPlace = async (): Promise<Place> => ({ ...(await api().newTenant()), repo: 'game' });

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
      const answer = await ask(api(), await newPlace(), 'upload', object);
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
      const place = await newPlace();
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
      const place = await newPlace();
      const object = objectOf(size);
      await push(api(), place, [object]);
      expect(await ask(api(), place, 'upload', object)).toEqual(pointer(object));
      const { actions } = await ask(api(), place, 'download', object);
      const got = await api().follow(actions?.download?.href ?? '', { method: 'GET' });
      expect(got.bytes.equals(object.content)).toBe(true);
    });

    it('may be tried again with the same link, and with a new one', async () => {
      const place = await newPlace();
      const object = objectOf(50);
      const first = await admitted(api(), place, object);
      const second = await admitted(api(), place, object);
      for (const { upload, verify } of [first, second, first]) {
        expect((await put(api(), upload, object.content)).status).toBe(200);
        expect((await postVerify(api(), verify, pointer(object))).status).toBe(200);
      }
    });

    it('of a size that is not the stored object’s is refused at once', async () => {
      const place = await newPlace();
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
      const place = await newPlace();
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
      const place = await newPlace();
      const other = objectOf(1000);
      const { upload } = await admitted(api(), place, real);
      for (const content of [other.content, real.content]) {
        const request = { method: 'PUT', headers: headersOf(other), body: content };
        await expectRefused(place, real, await api().follow(upload.href, request));
      }
    });

    it('under another key: of another tenant, repo or object', async () => {
      const [place, other] = [await newPlace(), await newPlace()];
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
