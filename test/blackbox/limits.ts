import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Api, expectLfsError, jsonOf } from './api.ts';
import {
  ask,
  batch,
  type LfsObject,
  newOid,
  type ObjectAnswer,
  objectOf,
  objectsIn,
  type Place,
  postBatch,
  push,
} from './lfs.ts';

/** The limit: what does not fit is refused and told why, and what fits is not. */
export function limitTests(api: () => Api): void {
  const newPlace = async (limitBytes: number | null): Promise<Place> => ({
    ...(await api().newTenant({ limitBytes })),
    repo: 'game',
  });
  const setLimit = async ({ tenant }: Place, limitBytes: number | null) => {
    const answer = await api().manage('PATCH', `/v1/tenants/${tenant}`, { limitBytes });
    expect(jsonOf(answer)).toMatchObject({ limitBytes });
  };
  const upload = async (place: Place, objects: readonly { oid: string; size: number }[]) => {
    const answers = await batch(api(), place, 'upload', objects);
    return objects.map(({ oid }) => answers.get(oid));
  };
  const isAdmitted = (answer: ObjectAnswer | undefined) => answer?.actions?.upload !== undefined;

  /** A refusal offers nothing, and shows what is used and allowed, how much is short, and for how many files. */
  const expectOverLimit = (
    answer: ObjectAnswer | undefined,
    told: { place: Place; usedBytes: number; limitBytes: number; missingBytes: number; of?: string },
  ) => {
    expect(answer).not.toHaveProperty('actions');
    expect(answer?.error?.code).toBe(507);
    const message = answer?.error?.message ?? '';
    const { of = "1 of 1 file doesn't" } = told;
    const [used, limit, short] = [told.usedBytes, told.limitBytes, told.missingBytes].map(
      (bytes) => `${bytes} B`,
    );
    expect(message).toContain(`Storage limit reached: ${told.place.tenant} uses ${used} of ${limit}`);
    expect(message).toContain(`${of} fit: ${short} short.`);
  };

  /** Comes again where it is told to, as the client does. */
  const uploadPatiently = async (place: Place, object: { oid: string; size: number }) => {
    for (let time = 0; time < 8; time += 1) {
      const answer = await postBatch(api(), place, { operation: 'upload', objects: [object] });
      if (answer.status !== 429) return objectsIn(answer)[0];
      expectLfsError(answer, 429, /Retry in/);
      expect(answer.headers['retry-after']).toMatch(/^[1-9]\d?$/);
      await sleep(Number(answer.headers['retry-after']) * 1000);
    }
    throw new Error('Told to come again, again and again.');
  };

  describe('the limit', () => {
    it('is reached to the byte, and not passed', async () => {
      const place = await newPlace(1000);
      const object = objectOf(1000);
      await push(api(), place, [object]);
      const one = { oid: newOid(), size: 1 };
      expectOverLimit(await ask(api(), place, 'upload', one), {
        place,
        usedBytes: 1000,
        limitBytes: 1000,
        missingBytes: 1,
      });
    });

    it('refuses what alone is larger', async () => {
      const place = await newPlace(1000);
      const told = { place, usedBytes: 0, limitBytes: 1000, missingBytes: 1 };
      expectOverLimit(await ask(api(), place, 'upload', { oid: newOid(), size: 1001 }), told);
    });

    it('admits what fits of a batch, in the order of the request', async () => {
      const place = await newPlace(100);
      const objects = [40, 70, 50, 20, 10, 0].map((size) => ({ oid: newOid(), size }));
      const answers = await upload(place, objects);
      expect(answers.map(isAdmitted)).toEqual([true, false, true, false, true, true]);
      const told = { place, usedBytes: 100, limitBytes: 100, missingBytes: 90, of: "2 of 6 files don't" };
      expectOverLimit(answers[1], told);
      expect(answers[3]).not.toHaveProperty('actions');
      expect(answers[3]?.error).toEqual({
        code: 507,
        message: `Storage limit reached (see above). File: git lfs ls-files -al | grep ${objects[3]?.oid.slice(0, 7)}`,
      });
    });

    it('counts what is admitted before it arrives, and not twice where it is asked for again', async () => {
      const place = await newPlace(100);
      const [first, second] = [objectOf(80), objectOf(30)];
      for (let time = 0; time < 4; time += 1)
        expect(isAdmitted((await upload(place, [first]))[0])).toBe(true);
      const told = { place, usedBytes: 80, limitBytes: 100, missingBytes: 10 };
      expectOverLimit((await upload(place, [second]))[0], told);
      expect((await upload(place, [second, first])).map(isAdmitted)).toEqual([false, true]);
      await push(api(), place, [first]);
      expectOverLimit((await upload(place, [second]))[0], told);
    });

    it('is of all repos together', async () => {
      const place = await newPlace(100);
      await push(api(), place, [objectOf(60)]);
      const other = { ...place, repo: 'other' };
      const told = { place: other, usedBytes: 60, limitBytes: 100, missingBytes: 10 };
      expectOverLimit((await upload(other, [objectOf(50)]))[0], told);
      await push(api(), other, [objectOf(40)]);
    });

    it('refuses nothing that is stored', async () => {
      const place = await newPlace(100);
      const object = objectOf(100);
      await push(api(), place, [object]);
      const [stored, refused] = await upload(place, [object, objectOf(1)]);
      expect(stored).toEqual({ oid: object.oid, size: 100 });
      const of = "1 of 2 files doesn't";
      expectOverLimit(refused, { place, usedBytes: 100, limitBytes: 100, missingBytes: 1, of });
    });

    it('that is raised or lifted lets the same push pass', async () => {
      const place = await newPlace(100);
      const [first, second, third] = [objectOf(90), objectOf(90), objectOf(90)];
      await push(api(), place, [first]);
      const refused = (object: LfsObject) => upload(place, [object]).then(([answer]) => answer);
      const told = { place, usedBytes: 90, limitBytes: 100, missingBytes: 80 };
      expectOverLimit(await refused(second), told);
      await setLimit(place, 180);
      await push(api(), place, [second]);
      expectOverLimit(await refused(third), { place, usedBytes: 180, limitBytes: 180, missingBytes: 90 });
      await setLimit(place, null);
      await push(api(), place, [third]);
    });

    it('that is lowered below what is used stops uploads, and downloads go on', async () => {
      const place = await newPlace(null);
      const object = objectOf(90);
      await push(api(), place, [object]);
      await setLimit(place, 50);
      const told = { place, usedBytes: 90, limitBytes: 50, missingBytes: 41 };
      expectOverLimit((await upload(place, [objectOf(1)]))[0], told);
      expect(await ask(api(), place, 'upload', object)).toEqual({ oid: object.oid, size: 90 });
      const { actions } = await ask(api(), place, 'download', object);
      const got = await api().follow(actions?.download?.href ?? '', { method: 'GET' });
      expect(got.bytes.equals(object.content)).toBe(true);
    });

    it('of nothing refuses every byte', async () => {
      const place = await newPlace(0);
      const [byte, nothing] = await upload(place, [objectOf(1), objectOf(0)]);
      const of = "1 of 2 files doesn't";
      expectOverLimit(byte, { place, usedBytes: 0, limitBytes: 0, missingBytes: 1, of });
      expect(isAdmitted(nothing)).toBe(true);
    });

    it('is none for a tenant without one', async () => {
      const place = await newPlace(null);
      const objects = Array.from({ length: 20 }, () => ({ oid: newOid(), size: 5 * 1024 ** 2 }));
      expect((await upload(place, objects)).every(isAdmitted)).toBe(true);
    });

    it('holds for many batches at once', { timeout: 90_000 }, async () => {
      const place = await newPlace(100);
      const objects = Array.from({ length: 12 }, () => ({ oid: newOid(), size: 30 }));
      const answers = await Promise.all(objects.map((object) => uploadPatiently(place, object)));
      expect(answers.filter(isAdmitted)).toHaveLength(3);
      for (const answer of answers.filter((one) => !isAdmitted(one))) {
        expectOverLimit(answer, { place, usedBytes: 90, limitBytes: 100, missingBytes: 20 });
      }
    });
  });
}
