import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { SourceGoneError, UploadGoneError } from '../../../../../lambda/core/store/rules/archive-store.ts';
import {
  copyParts,
  ReadTurns,
  type RunPartsInput,
  runParts,
  type WantedPart,
} from '../../../../../lambda/subjects/exports/copy-parts.ts';
import { Crc32s } from '../../../../../lambda/subjects/exports/crc32s.ts';
import { formatFor } from '../../../../../lambda/subjects/exports/rules/archive-formats.ts';
import {
  crc32sKey,
  type ExportProgress,
  shardKey,
} from '../../../../../lambda/subjects/exports/rules/job.ts';
import type { CopyOrder, OrderedPart, Piece } from '../../../../../lambda/subjects/exports/rules/orders.ts';
import { exportSettingsFor } from '../../../../../lambda/subjects/exports/rules/settings.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';

const exportSettings = exportSettingsFor('s3', { workers: 1 });

describe('copy parts', () => {
  const path = { tenant: 'acme', exportId: 'first' };
  const round = 1;
  const zeros = { kind: 'upload', sizeBytes: 3, pieces: [{ kind: 'zeros', sizeBytes: 3 }] } as const;

  /** An upload of an archive, and who makes parts of it. */
  async function world(pageSize = 1000) {
    const archives = new MemoryArchiveStore({ limits: { partBytesMin: 1 }, pageSize });
    const made = await archives.putSource('made', Buffer.from('made'));
    const volume = { ...(await archives.createUpload('archive')), made };
    const works: ExportProgress[] = [];
    const copy = (
      parts: readonly OrderedPart[],
      more: { isFirst?: boolean; isOver?: () => boolean; format?: 'zip'; tellsCrc32?: boolean } = {},
    ) => {
      const order: CopyOrder = { format: more.format ?? 'tar', modifiedAtMs: 0, volumes: [volume], parts };
      return copyParts(
        { archives, exportSettings: { ...exportSettings, tellsCrc32: more.tellsCrc32 ?? true } },
        {
          path,
          round,
          unit: 0,
          order,
          isFirst: false,
          isOver: () => false,
          onPart: async (work) => void works.push(work),
          ...more,
        },
      );
    };
    const parts = () => archives.count('uploadPart') + archives.count('copyPart');
    return { archives, volume, works, copy, parts };
  }

  const leaf = (number: number): OrderedPart => ({ ...zeros, number, volume: 0 });

  describe('the parts of an order', () => {
    it('that are there are found from the first to the last, on as many pages as they lie on, and not made again', async () => {
      const { archives, volume, copy, parts } = await world(4);
      for (let number = 1; number <= 20; number += 1)
        await archives.uploadPart(volume, { number, bytes: new Uint8Array(3) });
      const before = parts();
      expect(await copy(Array.from({ length: 8 }, (_, index) => leaf(index + 3)))).toBe(true);
      expect(parts()).toBe(before);
      expect(archives.count('parts')).toBe(2);
    });

    it('are looked for where there are any, and nowhere if nothing was made', async () => {
      const { archives, copy } = await world();
      expect(await copy([])).toBe(true);
      expect(await copy([leaf(1)], { isFirst: true })).toBe(true);
      expect(archives.count('parts')).toBe(0);
      expect(await copy([leaf(1)])).toBe(true);
      expect(archives.count('parts')).toBe(1);
    });
  });

  it('make nothing of the parts before them', async () => {
    const { archives, volume, copy } = await world();
    const source = await archives.putSource('object', Buffer.alloc(90, 'x'));
    const part = (number: number): OrderedPart => {
      const endByte = 90 - number;
      const pieces: Piece[] = [
        { kind: 'object', source, range: { startByte: 0, endByte } },
        { kind: 'zeros', sizeBytes: 5 },
      ];
      return { kind: 'upload', number, volume: 0, sizeBytes: endByte + 5, pieces };
    };
    const wanted = Array.from({ length: 40 }, (_, index) => part(index + 1));
    expect(await copy(wanted)).toBe(true);
    const made = [];
    for await (const page of archives.parts(volume)) made.push(...page);
    await archives.complete(volume, made);
    const each = wanted.map(({ sizeBytes }) => `${'x'.repeat(sizeBytes - 5)}${'\0'.repeat(5)}`);
    expect(Buffer.from((await archives.get('archive')) ?? []).toString()).toBe(each.join(''));
  });

  describe('the parts of a zip', () => {
    const zip = formatFor('zip', { modifiedAtMs: 0 });
    /** A part with an object, and one with an object's head and first bytes. */
    async function parts({ archives }: { archives: MemoryArchiveStore }) {
      const bytes = Buffer.from('the bytes of an object');
      const source = await archives.putSource('object', bytes);
      const member = { name: 'a.bin', sizeBytes: bytes.length };
      const upload = (number: number, endByte: number, from?: typeof source): OrderedPart => ({
        kind: 'upload',
        number,
        volume: 0,
        sizeBytes: zip.headBytes(member) + endByte,
        pieces: [
          { kind: 'head', member, crc32At: number * 100, ...(from && { source: from }) },
          { kind: 'object', source, range: { startByte: 0, endByte } },
        ],
      });
      const head = zip.head({ ...member, crc32: crc32(bytes) });
      return { bytes, head, all: [upload(1, bytes.length), upload(2, 7, source)] };
    }
    const put = async (archives: MemoryArchiveStore, isWhole: boolean) => {
      const put = await archives.get(crc32sKey(path, { round, unit: 0, isWhole }));
      return put && JSON.parse(Buffer.from(put).toString());
    };

    it('have the CRC-32 of each object in its head, and it is put down for the directory', async () => {
      const { archives, volume, works, copy } = await world();
      const { bytes, head, all } = await parts({ archives });
      expect(await copy(all, { format: 'zip' })).toBe(true);
      const crc = crc32(bytes);
      expect(await put(archives, true)).toEqual([
        [100, crc],
        [200, crc],
      ]);
      expect(works.reduce((sum, { hashedBytes }) => sum + hashedBytes, 0)).toBe(bytes.length);
      const made = [];
      for await (const page of archives.parts(volume)) made.push(...page);
      await archives.complete(volume, made);
      const archive = Buffer.concat([head, bytes, head, bytes.subarray(0, 7)]);
      expect(Buffer.from((await archives.get('archive')) ?? [])).toEqual(archive);
    });

    it('whose time is over are gone on with by what was found', async () => {
      const { archives, copy, parts: made } = await world();
      const { all } = await parts({ archives });
      let looks = 0;
      const isOver = () => {
        looks += 1;
        return looks > 1;
      };
      expect(await copy(all, { format: 'zip', isOver })).toBe(false);
      expect([await put(archives, true), await put(archives, false)]).toEqual([
        undefined,
        [[100, expect.any(Number)]],
      ]);
      expect(await copy(all, { format: 'zip' })).toBe(true);
      expect(made()).toBe(2);
      expect(await put(archives, true)).toHaveLength(2);
    });

    it('are made over several runs if an object is too large to be read in one', async () => {
      const { archives, copy, parts: made } = await world();
      const bytes = Buffer.alloc(9 * 1024 ** 2, 'a large object ');
      const source = await archives.putSource('large', bytes);
      const member = { name: 'large.bin', sizeBytes: bytes.length };
      const pieces = [{ kind: 'head', member, crc32At: 100, source }] as const;
      const sizeBytes = zip.headBytes(member);
      const part: OrderedPart = { kind: 'upload', number: 1, volume: 0, sizeBytes, pieces };
      const run = () => {
        let looks = 0;
        // Once the part has begun, the time is over.
        const isOver = () => {
          looks += 1;
          return looks > 1;
        };
        return copy([part], { format: 'zip', isOver, tellsCrc32: false });
      };
      expect([await run(), await run(), made()]).toEqual([false, false, 0]);
      expect([await run(), made()]).toEqual([true, 1]);
      expect(archives.count('readInto')).toBe(3);
      expect(await put(archives, true)).toEqual([[100, crc32(bytes)]]);
    });
  });

  describe('a shard', () => {
    const shard: OrderedPart = { kind: 'shard', number: 2, volume: 0, sizeBytes: 6, parts: [zeros, zeros] };
    const key = shardKey(path, { round, volume: 0, part: 2 });

    it('is made as an object, and copied as one part, whose bytes count once', async () => {
      const { archives, works, copy } = await world();
      expect(await copy([shard])).toBe(true);
      expect((await archives.head(key))?.sizeBytes).toBe(6);
      expect(archives.openUploads).toMatchObject([{ key: 'archive', parts: 1 }]);
      const part = { uploadedBytes: 3, copiedBytes: 0, hashedBytes: 0, requests: 1 };
      expect(works).toEqual([part, part, { ...part, uploadedBytes: 0 }]);
    });

    it('that was copied is not looked at again', async () => {
      const { archives, copy, parts } = await world();
      await copy([shard]);
      const before = parts();
      const heads = archives.count('head');
      expect(await copy([shard])).toBe(true);
      expect([parts(), archives.count('head')]).toEqual([before, heads]);
    });

    it('that is complete is copied alone', async () => {
      const { archives, works, copy } = await world();
      await archives.put(key, new Uint8Array(6));
      expect(await copy([shard])).toBe(true);
      expect(works).toHaveLength(1);
      expect(archives.count('createUpload')).toBe(1);
    });

    it('is gone on with where another worker left it', async () => {
      const { archives, works, copy } = await world();
      const begun = await archives.createUpload(key);
      await archives.uploadPart(begun, { number: 1, bytes: new Uint8Array(3) });
      expect(await copy([shard])).toBe(true);
      expect(works).toHaveLength(2);
      expect(archives.openUploads).toMatchObject([{ key: 'archive', parts: 1 }]);
    });

    it('is left as it is once the time is over, and the order is not done', async () => {
      const { archives, copy } = await world();
      let looks = 0;
      const isOver = () => {
        looks += 1;
        return looks > 1;
      };
      expect(await copy([shard], { isOver })).toBe(false);
      expect(archives.openUploads).toMatchObject([{ key, parts: 1 }, { parts: 0 }]);
      expect(await archives.head(key)).toBeUndefined();
    });

    /** The store answers to so many copies of the shard that it is not there in this version. */
    const copiesFail = (archives: MemoryArchiveStore, times: number, error: Error) => {
      let left = times;
      archives.before = ({ name }) => {
        if (name !== 'copyPart') return;
        left -= 1;
        if (left >= 0) throw error;
      };
    };

    it.each([new SourceGoneError({ key, etag: '"1"' }), new UploadGoneError('gone')])(
      'that another worker replaced is copied anew, up to three times: %s',
      async (error) => {
        const { archives, copy } = await world();
        copiesFail(archives, 2, error);
        expect(await copy([shard])).toBe(true);
        expect(archives.count('copyPart')).toBe(3);
        const other = await world();
        copiesFail(other.archives, 3, error);
        await expect(other.copy([shard])).rejects.toThrow(error);
        expect(other.archives.count('copyPart')).toBe(3);
      },
    );

    it.each([undefined, 5])(
      'is not copied anew if it is gone, or has another size: %s',
      async (sizeBytes) => {
        const { archives, copy } = await world();
        const gone = new SourceGoneError({ key, etag: '"1"' });
        archives.before = async ({ name }) => {
          if (name !== 'copyPart') return;
          await archives.objects.delete([key]);
          if (sizeBytes !== undefined) await archives.put(key, new Uint8Array(sizeBytes));
          throw gone;
        };
        await expect(copy([shard])).rejects.toThrow(gone);
        expect(archives.count('copyPart')).toBe(1);
      },
    );

    it('of a zip that another worker completes meanwhile is made again by whoever lacks its CRC-32s', async () => {
      const { archives, copy } = await world();
      const piece = { kind: 'head', member: { name: 'a', sizeBytes: 0 }, crc32At: 0 } as const;
      const head = { kind: 'upload', sizeBytes: 31, pieces: [piece] } as const;
      const begun = await archives.createUpload(key);
      archives.before = async ({ name }) => {
        if (name !== 'parts' || archives.count('parts') < 2) return;
        archives.before = () => undefined;
        await archives.complete(begun, [
          await archives.uploadPart(begun, { number: 1, bytes: new Uint8Array(31) }),
        ]);
      };
      expect(await copy([{ ...shard, sizeBytes: 31, parts: [head] }], { format: 'zip' })).toBe(true);
      expect(archives.openUploads).toMatchObject([{ key: 'archive', parts: 1 }]);
    });

    it('is not copied anew after any other error', async () => {
      const { archives, copy } = await world();
      copiesFail(archives, 1, new Error('A mistake of ours.'));
      await expect(copy([shard])).rejects.toThrow('A mistake of ours.');
      expect(archives.count('copyPart')).toBe(1);
    });
  });
});

const mib = 1024 ** 2;

/** Reads that end when the test says so. */
function startReads(turns: ReadTurns, sizes: readonly number[]) {
  const begun: number[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const all = sizes.map((bytes, index) =>
    turns.during(bytes, () => {
      begun.push(index);
      return new Promise<void>((resolve, reject) => {
        ends[index] = (error) => (error ? reject(error) : resolve());
      });
    }),
  );
  const settle = async () => {
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  };
  return { begun, ends, all, settle };
}

it('begin in their order, as many as fill the bandwidth', async () => {
  const reads = startReads(
    new ReadTurns(64),
    Array.from({ length: 12 }, () => 5 * mib),
  );
  await reads.settle();
  expect(reads.begun).toEqual([0, 1, 2, 3]);
  reads.ends[2]?.();
  await reads.settle();
  expect(reads.begun).toEqual([0, 1, 2, 3, 4]);
});

it('fill the bandwidth to the last byte', async () => {
  const reads = startReads(new ReadTurns(64), [6 * mib, 6 * mib, 6 * mib, 6 * mib, 1]);
  await reads.settle();
  expect(reads.begun).toEqual([0, 1, 2, 3]);
});

it('of small ones, only so many are under way', async () => {
  const reads = startReads(
    new ReadTurns(64),
    Array.from({ length: 100 }, () => 1000),
  );
  await reads.settle();
  expect(reads.begun.length).toBe(64);
});

it('a large one is read alone, and holds up what comes behind it', async () => {
  const reads = startReads(new ReadTurns(64), [1, 100 * mib, 1]);
  await reads.settle();
  expect(reads.begun).toEqual([0]);
  reads.ends[0]?.();
  await reads.settle();
  expect(reads.begun).toEqual([0, 1]);
  reads.ends[1]?.();
  await reads.settle();
  expect(reads.begun).toEqual([0, 1, 2]);
});

it('one that fails makes room as well', async () => {
  const reads = startReads(new ReadTurns(64), [100 * mib, 1]);
  await reads.settle();
  reads.ends[0]?.(new Error('gone'));
  await expect(reads.all[0]).rejects.toThrow('gone');
  await reads.settle();
  expect(reads.begun).toEqual([0, 1]);
});

describe('run parts', () => {
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
    const works: ExportProgress[] = [];
    const run = (parts: readonly WantedPart[], more: Partial<RunPartsInput> = {}) =>
      runParts(
        { archives, exportSettings },
        {
          upload,
          parts,
          existing: new Map(),
          format: formatFor('tar', { modifiedAtMs: 0 }),
          made,
          crc32s: new Crc32s(
            { archives, exportSettings },
            { path: { tenant: 'acme', exportId: 'a' }, round: 1, unit: 0 },
          ),
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
      const member = { name: 'a.bin', sizeBytes: 10 };
      const format = formatFor('tar', { modifiedAtMs: 0 });
      const head = Buffer.from(format.head({ ...member, crc32: 0 }));
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
      const copied = { uploadedBytes: 0, hashedBytes: 0, requests: 1 };
      expect(works).toHaveLength(3);
      expect(works).toEqual(
        expect.arrayContaining([
          { uploadedBytes: sizeBytes, copiedBytes: 0, hashedBytes: 0, requests: 3 },
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
});
