import { describe, expect, it } from 'vitest';
import { formatFor } from '../../../../../lambda/domain/export/formats.ts';
import type { Piece } from '../../../../../lambda/domain/export/work-order.ts';
import {
  type PartWork,
  type RunPartsInput,
  runParts,
  type WantedPart,
} from '../../../../../lambda/use-cases/exports/run-parts.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';

const mebibyte = 1024 ** 2;
const zeros = (number: number, sizeBytes: number): WantedPart => ({
  kind: 'upload',
  number,
  sizeBytes,
  pieces: [{ kind: 'zeros', sizeBytes }],
});

/** Makes parts of an upload. */
async function world() {
  const archives = new MemoryArchiveStore({ limits: { partBytesMin: 1 } });
  const upload = await archives.createUpload('archive');
  const source = await archives.putSource('object', Buffer.from('0123456789'));
  const made = await archives.putSource('made', Buffer.from('abcdefghij'));
  const works: PartWork[] = [];
  const run = (parts: readonly WantedPart[], more: Partial<RunPartsInput> = {}) =>
    runParts(
      { archives },
      {
        upload,
        parts,
        existing: new Map(),
        format: formatFor('tar', { modifiedAtMs: 0 }),
        made,
        onPart: async (work) => void works.push(work),
        isOver: () => false,
        ...more,
      },
    );
  const archive = async () => {
    const parts = [];
    for await (const page of archives.parts(upload)) parts.push(...page);
    await archives.complete(upload, parts);
    return Buffer.from((await archives.get('archive')) ?? []);
  };
  return { archives, upload, source, made, works, run, archive };
}

/** How many calls of a method are under way at most, if each takes some turns. */
function mostAtOnce(archives: MemoryArchiveStore, method: 'copyPart' | 'uploadPart' | 'readInto') {
  let [running, most] = [0, 0];
  archives.before = async ({ name }) => {
    if (name !== method) return;
    running += 1;
    most = Math.max(most, running);
    for (let turns = 0; turns < 20; turns += 1) await Promise.resolve();
  };
  archives.after = ({ name }) => {
    if (name === method) running -= 1;
  };
  return () => most;
}

describe('parts of an archive', () => {
  it('are put together of heads, objects, what was made, and zeros', async () => {
    const { source, works, run, archive } = await world();
    const member = { name: 'a.bin', sizeBytes: 10, crc32: 0 };
    const format = formatFor('tar', { modifiedAtMs: 0 });
    const head = Buffer.from(format.head(member));
    const pieces: Piece[] = [
      { kind: 'head', member },
      { kind: 'object', source, range: { startByte: 2, endByte: 5 } },
      { kind: 'zeros', sizeBytes: 2 },
      { kind: 'head', member, range: { startByte: 0, endByte: 4 } },
      { kind: 'made', range: { startByte: 1, endByte: 3 } },
    ];
    const sizeBytes = head.length + 3 + 2 + 4 + 2;
    const done = await run([
      { kind: 'upload', number: 1, sizeBytes, pieces },
      { kind: 'copy', number: 2, sizeBytes: 10, source },
      { kind: 'copy', number: 3, sizeBytes: 2, source, range: { startByte: 8, endByte: 10 } },
    ]);
    expect([...done.keys()].sort()).toEqual([1, 2, 3]);
    expect(done.get(2)).toMatchObject({ number: 2, sizeBytes: 10 });
    expect(await archive()).toEqual(
      Buffer.concat([head, Buffer.from('234\0\0'), head.subarray(0, 4), Buffer.from('bc012345678989')]),
    );
    const copied = { uploadedBytes: 0, requests: 1 };
    expect(works).toHaveLength(3);
    expect(works).toEqual(
      expect.arrayContaining([
        { uploadedBytes: sizeBytes, copiedBytes: 0, requests: 3 },
        { ...copied, copiedBytes: 10 },
        { ...copied, copiedBytes: 2 },
      ]),
    );
  });

  it('are refused if their pieces have another size', async () => {
    const { run } = await world();
    const pieces: Piece[] = [{ kind: 'zeros', sizeBytes: 3 }];
    const part: WantedPart = { kind: 'upload', number: 1, sizeBytes: 4, pieces };
    await expect(run([part])).rejects.toThrow('A part has 3 bytes instead of 4.');
  });

  it('that are there are not made again, unless they have another size', async () => {
    const { archives, upload, run } = await world();
    const existing = new Map([
      [1, await archives.uploadPart(upload, { number: 1, bytes: new Uint8Array(3) })],
      [2, await archives.uploadPart(upload, { number: 2, bytes: new Uint8Array(4) })],
    ]);
    const done = await run([zeros(1, 3), zeros(2, 3)], { existing });
    expect([done.get(1), done.get(2)?.sizeBytes]).toEqual([existing.get(1), 3]);
    expect(archives.count('uploadPart')).toBe(3);
  });

  it('are made until the time is over', async () => {
    const { archives, run } = await world();
    let looks = 0;
    const isOver = () => {
      looks += 1;
      return looks > 2;
    };
    const done = await run([zeros(1, 1), zeros(2, 1), zeros(3, 1), zeros(4, 1)], { isOver });
    expect(done.size).toBe(2);
    expect(archives.count('uploadPart')).toBe(2);
  });

  it('are copied 32 at a time', async () => {
    const { archives, source, run } = await world();
    const most = mostAtOnce(archives, 'copyPart');
    await run(
      Array.from({ length: 50 }, (_, index) => ({
        kind: 'copy' as const,
        number: index + 1,
        sizeBytes: 10,
        source,
      })),
    );
    expect(most()).toBe(32);
  });

  it.each([
    // All of 16, because they are small.
    [1, 16],
    [10 * mebibyte, 16],
    // 160 MiB are in memory, whatever the size is.
    [11 * mebibyte, 14],
    [80 * mebibyte, 2],
    [81 * mebibyte, 1],
    [161 * mebibyte, 1],
  ])('of %i bytes and less are uploaded %i at a time', async (largest, expected) => {
    const { archives, run } = await world();
    const most = mostAtOnce(archives, 'uploadPart');
    // What is made counts, not what is there.
    const sizeBytes = 200 * mebibyte;
    const existing = new Map([[40, { number: 40, sizeBytes, etag: 'x' }]]);
    const parts = Array.from({ length: 20 }, (_, index) => zeros(index + 1, index === 3 ? largest : 1));
    const { uploadPart } = archives;
    archives.uploadPart = (to, { number }) =>
      uploadPart.call(archives, to, { number, bytes: Uint8Array.of(number) });
    await run([...parts, zeros(40, sizeBytes)], { existing });
    expect(most()).toBe(expected);
  });

  it('stop, copies as well as uploads, once one of them fails', async () => {
    for (const failing of ['uploadPart', 'copyPart'] as const) {
      const { archives, source, run } = await world();
      let made = 0;
      archives.before = async ({ name }) => {
        if (name === failing) throw new Error('The store does not answer.');
        if (name !== 'copyPart' && name !== 'uploadPart') return;
        made += 1;
        for (let turns = 0; turns < 20; turns += 1) await Promise.resolve();
      };
      const parts = Array.from({ length: 200 }, (_, index): WantedPart => {
        const number = index + 1;
        return number % 2 === 0 ? zeros(number, 1) : { kind: 'copy', number, sizeBytes: 10, source };
      });
      await expect(run(parts)).rejects.toThrow('The store does not answer.');
      for (let turns = 0; turns < 1000; turns += 1) await Promise.resolve();
      // Those that were under way.
      expect(made).toBeLessThanOrEqual(32);
    }
  });
});
