import { describe, expect, it } from 'vitest';
import { shardKey } from '../../../../../lambda/domain/export/export-keys.ts';
import type { CopyOrder, OrderedPart } from '../../../../../lambda/domain/export/work-order.ts';
import { SourceGoneError, UploadGoneError } from '../../../../../lambda/ports/archive-store.ts';
import { copyParts } from '../../../../../lambda/use-cases/exports/copy-parts.ts';
import type { PartWork } from '../../../../../lambda/use-cases/exports/run-parts.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';

const path = { tenant: 'acme', exportId: 'first' };
const round = 1;
const zeros = { kind: 'upload', sizeBytes: 3, pieces: [{ kind: 'zeros', sizeBytes: 3 }] } as const;

/** An upload of an archive, and who makes parts of it. */
async function world(pageSize = 1000) {
  const archives = new MemoryArchiveStore({ limits: { partBytesMin: 1 }, pageSize });
  const made = await archives.putSource('made', Buffer.from('made'));
  const volume = { ...(await archives.createUpload('archive')), made };
  const works: PartWork[] = [];
  const copy = (parts: readonly OrderedPart[], more: { isFirst?: boolean; isOver?: () => boolean } = {}) => {
    const order: CopyOrder = { format: 'tar', modifiedAtMs: 0, volumes: [volume], parts };
    return copyParts(
      { archives },
      {
        path,
        round,
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

describe('a shard', () => {
  const shard: OrderedPart = { kind: 'shard', number: 2, volume: 0, sizeBytes: 6, parts: [zeros, zeros] };
  const key = shardKey(path, { round, volume: 0, part: 2 });

  it('is made as an object, and copied as one part, whose bytes count once', async () => {
    const { archives, works, copy } = await world();
    expect(await copy([shard])).toBe(true);
    expect((await archives.head(key))?.sizeBytes).toBe(6);
    expect(archives.openUploads).toMatchObject([{ key: 'archive', parts: 1 }]);
    const [part, copied] = [{ uploadedBytes: 3, copiedBytes: 0, requests: 1 }, { uploadedBytes: 0 }];
    expect(works).toEqual([part, part, { ...copied, copiedBytes: 0, requests: 1 }]);
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

  it.each([new SourceGoneError(key), new UploadGoneError('gone')])(
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

  it.each([undefined, 5])('is not copied anew if it is gone, or has another size: %s', async (sizeBytes) => {
    const { archives, copy } = await world();
    const gone = new SourceGoneError(key);
    archives.before = async ({ name }) => {
      if (name !== 'copyPart') return;
      await archives.objects.delete([key]);
      if (sizeBytes !== undefined) await archives.put(key, new Uint8Array(sizeBytes));
      throw gone;
    };
    await expect(copy([shard])).rejects.toThrow(gone);
    expect(archives.count('copyPart')).toBe(1);
  });

  it('is not copied anew after any other error', async () => {
    const { archives, copy } = await world();
    copiesFail(archives, 1, new Error('A mistake of ours.'));
    await expect(copy([shard])).rejects.toThrow('A mistake of ours.');
    expect(archives.count('copyPart')).toBe(1);
  });
});
