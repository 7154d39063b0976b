import { beforeAll, describe, expect, it } from 'vitest';
import type { Api } from './api.ts';
import { newOid, objectsIn, type Place, postBatch } from './lfs.ts';

const gib = 1024 ** 3;

const badOids = [
  ...['', '1'.repeat(63), '1'.repeat(65), 'A'.repeat(64), 'g'.repeat(64), `${'1'.repeat(64)}\n`],
  ...[` ${'1'.repeat(64)}`, '../../other/game/x', `${'1'.repeat(32)}/../${'1'.repeat(28)}`, 'sha256:1'],
  ...['\u0000', '😀', '__proto__', 'constructor', 'x'.repeat(20_000)],
];

const badSizes: readonly [size: number, message: RegExp][] = [
  [-1, /size/],
  [0.5, /size/],
  [1e300, /size/],
  [2 ** 53, /size/],
  [-(2 ** 53), /size/],
  [5 * gib + 1, /5 GiB/],
  [Number.MAX_SAFE_INTEGER, /5 GiB/],
];

/** The Batch API's objects: what is wrong with one is said of that one, and the others go on. */
export function batchObjectTests(api: () => Api): void {
  let place: Place;
  beforeAll(async () => {
    place = { ...(await api().newTenant()), repo: 'game' };
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

    it('that are named twice are answered once', async () => {
      const [one, other] = [
        { oid: newOid(), size: 3 },
        { oid: newOid(), size: 4 },
      ];
      const answers = await askFor(operation, [one, other, one, one, other]);
      expect(answers).toHaveLength(2);
      for (const { error } of answers) expect(error?.code).not.toBe(422);
    });

    it('that are named with two sizes are refused, and answered once', async () => {
      const [twice, once] = [newOid(), newOid()];
      const answers = await askFor(operation, [
        { oid: twice, size: 3 },
        { oid: once, size: 4 },
        { oid: twice, size: 5 },
        { oid: twice, size: 3 },
      ]);
      expect(answers).toHaveLength(2);
      const conflict = answers.find(({ oid }) => oid === twice);
      expect(conflict?.error).toEqual({ code: 422, message: expect.stringMatching(/twice/) });
      expect(conflict).not.toHaveProperty('actions');
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
