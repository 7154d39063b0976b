import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type ArchiveStore,
  type MultipartUpload,
  ObjectExistsError,
  SourceGoneError,
  UploadGoneError,
} from '../../lambda/core/store/rules/archive-store.ts';
import { oddNames, testUnless } from './object-store-context.ts';
import { bytesOf } from './object-store-parts.ts';

/** A store of archives under test. */
export interface ArchiveStoreTarget {
  readonly store: ArchiveStore;
  /** The smallest part but the last. */
  readonly partBytesMin: number;
  /** Objects of which archives are made. Default: whatever the store itself has put. */
  readonly sources?: {
    /** Of the nth place that a test uses. */
    keyOf(place: number, name: string): string;
    put(key: string, bytes: Buffer): Promise<void>;
    delete(key: string): Promise<void>;
  };
  stop(): Promise<void>;
}

/** What every {@link ArchiveStore} must do. @param skips.many why what takes thousands of writes is not run. */
export function archiveStoreContract(
  name: string,
  open: () => Promise<ArchiveStoreTarget>,
  skips: { readonly many?: string } = {},
): void {
  describe(`archives: ${name}`, () => {
    let target: ArchiveStoreTarget;
    let prefixes = 0;
    beforeAll(async () => {
      target = await open();
    });
    afterAll(() => target?.stop());
    const prefix = () => {
      prefixes += 1;
      return `_exports/acme/${Date.now()}-${prefixes}/`;
    };

    const sources = () =>
      target.sources ?? {
        keyOf: (_: number, name: string) => prefix() + name,
        put: (key: string, bytes: Buffer) => target.store.put(key, bytes),
        delete: (key: string) => target.store.delete([key]),
      };
    /** Something to make archives of. */
    const stored = async (name: string, bytes: Buffer) => {
      prefixes += 1;
      const key = sources().keyOf(prefixes, name);
      await sources().put(key, bytes);
      return { key, etag: (await target.store.head(key))?.etag ?? '' };
    };
    const read = async (key: string) => Buffer.from((await target.store.get(key)) ?? []);
    const partsOf = (upload: MultipartUpload) => all(target.store.parts(upload));

    describe('an object', () => {
      test('is read as it was put, with its size and ETag', async () => {
        const key = `${prefix()}object`;
        for (const bytes of [bytesOf(3 * 65_536 + 1, 'a'), Buffer.alloc(0), Buffer.from('short')]) {
          await target.store.put(key, bytes);
          expect((await read(key)).equals(bytes)).toBe(true);
          const head = await target.store.head(key);
          expect(head).toEqual({ sizeBytes: bytes.length, etag: expect.stringMatching(/^".+"$/) });
        }
      });

      test('is put to be read in that version', async () => {
        const key = `${prefix()}source`;
        const source = await target.store.putSource(key, Buffer.from('before'));
        expect(source).toEqual({ key, etag: (await target.store.head(key))?.etag });
        const into = new Uint8Array(3);
        await target.store.readInto(source, { startByte: 0, endByte: 3 }, into);
        expect(Buffer.from(into).toString()).toBe('bef');
        expect((await target.store.putSource(key, Buffer.from('later'))).etag).not.toBe(source.etag);
        const reading = target.store.readInto(source, { startByte: 0, endByte: 3 }, into);
        await expect(reading).rejects.toThrow(SourceGoneError);
      });

      test('that does not exist is undefined', async () => {
        const key = `${prefix()}none`;
        expect(await target.store.get(key)).toBeUndefined();
        expect(await target.store.head(key)).toBeUndefined();
      });

      test('is read in ranges', async () => {
        const bytes = bytesOf(200_000, 'ranges');
        const source = await stored('object', bytes);
        for (const [startByte, endByte] of [
          [0, 1],
          [7, 150_007],
          [199_999, 200_000],
          [0, 200_000],
        ] as const) {
          const into = new Uint8Array(endByte - startByte);
          await target.store.readInto(source, { startByte, endByte }, into);
          expect(Buffer.from(into).equals(bytes.subarray(startByte, endByte))).toBe(true);
        }
      });

      test('is not read in a wrong range', async () => {
        const source = await stored('object', Buffer.from('0123456789'));
        const reading = (startByte: number, endByte: number, length: number) =>
          target.store.readInto(source, { startByte, endByte }, new Uint8Array(length));
        await expect(reading(0, 4, 3)).rejects.toThrow();
        await expect(reading(10, 12, 2)).rejects.toThrow();
        await expect(reading(3, 3, 0)).rejects.toThrow();
      });

      test('is not read once it is gone, or has changed', async () => {
        const source = await stored('object', Buffer.from('before'));
        const reading = () => target.store.readInto(source, { startByte: 0, endByte: 2 }, new Uint8Array(2));
        await sources().put(source.key, Buffer.from('later!'));
        await expect(reading()).rejects.toThrow(SourceGoneError);
        await sources().delete(source.key);
        await expect(reading()).rejects.toThrow(expect.objectContaining({ source }));
        await expect(reading()).rejects.toThrow(SourceGoneError);
      });
    });

    describe('objects below a prefix', () => {
      test('are listed, whatever characters their keys have, and deleted', async () => {
        const below = prefix();
        const keys = oddNames.map((odd) => below + odd);
        for (const key of keys) await target.store.put(key, Buffer.from('x'));
        await target.store.put(`${below.slice(0, -1)}-beside`, Buffer.from('x'));
        expect((await all(target.store.list(below))).sort()).toEqual([...keys].sort());
        await target.store.delete([...keys.slice(1), `${below}none`]);
        expect(await all(target.store.list(below))).toEqual([keys[0]]);
        await target.store.delete([]);
      });

      testUnless(
        skips.many,
        'are listed a page at a time',
        async () => {
          const below = prefix();
          const keys = Array.from(
            { length: 1005 },
            (_, index) => `${below}${String(index).padStart(4, '0')}`,
          );
          const left = keys.values();
          const worker = async () => {
            for (const key of left) await target.store.put(key, Buffer.from('x'));
          };
          await Promise.all(Array.from({ length: 16 }, worker));
          expect(await all(target.store.list(below))).toEqual(keys);
          await target.store.delete(keys);
          expect(await all(target.store.list(below))).toEqual([]);
        },
        60_000,
      );
    });

    describe('an upload', () => {
      test('becomes an object of its parts, uploaded and copied', async () => {
        const { store, partBytesMin: min } = target;
        const below = prefix();
        const bytes = bytesOf(2 * min + 100, 'source');
        const source = await stored('source ä+%?&.bin', bytes);
        const upload = await store.createUpload(`${below}whole`);
        expect(upload.key).toBe(`${below}whole`);
        const range = { startByte: 7, endByte: min + 7 };
        // In another order than theirs.
        const c = await store.uploadPart(upload, { number: 30, bytes: Buffer.from('the end') });
        const b = await store.copyPart(upload, { number: 2, source, range, sizeBytes: min });
        const a = await store.copyPart(upload, { number: 1, source, sizeBytes: bytes.length });
        expect([a, b, c].map(({ number, sizeBytes }) => [number, sizeBytes])).toEqual([
          [1, bytes.length],
          [2, min],
          [30, 7],
        ]);
        expect(await partsOf(upload)).toEqual([a, b, c]);
        expect(await store.head(upload.key)).toBeUndefined();
        const { etag } = await store.complete(upload, [a, b, c]);
        expect(await store.head(upload.key)).toEqual({ sizeBytes: bytes.length + min + 7, etag });
        const whole = Buffer.concat([bytes, bytes.subarray(7, min + 7), Buffer.from('the end')]);
        expect((await read(upload.key)).equals(whole)).toBe(true);
        // What was made of parts is a source again.
        const again = await store.createUpload(`${below}again`);
        const tail = { startByte: whole.length - min - 7, endByte: whole.length };
        const copy = { number: 1, source: { key: upload.key, etag }, range: tail, sizeBytes: min + 7 };
        await store.complete(again, [await store.copyPart(again, copy)]);
        expect((await read(again.key)).equals(whole.subarray(tail.startByte))).toBe(true);
      });

      test('has no parts at first, and replaces those of the same number', async () => {
        const { store } = target;
        const upload = await store.createUpload(`${prefix()}whole`);
        expect(await partsOf(upload)).toEqual([]);
        const first = await store.uploadPart(upload, { number: 1, bytes: Buffer.from('first') });
        const second = await store.uploadPart(upload, { number: 1, bytes: Buffer.from('second') });
        expect(await partsOf(upload)).toEqual([second]);
        await expect(store.complete(upload, [first])).rejects.toThrow();
        await store.complete(upload, [second]);
        expect(await read(upload.key)).toEqual(Buffer.from('second'));
      });

      test('is refused with wrong parts, and goes on', async () => {
        const { store, partBytesMin: min } = target;
        const upload = await store.createUpload(`${prefix()}whole`);
        const part = async (number: number, sizeBytes: number) =>
          await store.uploadPart(upload, { number, bytes: bytesOf(sizeBytes, `part ${number}`) });
        const parts = [await part(1, min), await part(2, min), await part(3, 9)] as const;
        const [a, b, c] = parts;
        await expect(store.complete(upload, [b, a, c])).rejects.toThrow();
        await expect(store.complete(upload, [a, c, b])).rejects.toThrow();
        await expect(store.complete(upload, [a, { ...b, number: 4 }])).rejects.toThrow();
        await expect(store.complete(upload, [a, { ...b, etag: c.etag }])).rejects.toThrow();
        expect(await partsOf(upload)).toEqual(parts);
        await part(1, 9);
        await expect(store.complete(upload, [...(await partsOf(upload))])).rejects.toThrow();
        await expect(store.uploadPart(upload, { number: 0, bytes: Buffer.from('x') })).rejects.toThrow();
        await expect(store.uploadPart(upload, { number: 10_001, bytes: Buffer.from('x') })).rejects.toThrow();
        await store.complete(upload, [await part(1, min), b, c]);
        expect((await store.head(upload.key))?.sizeBytes).toBe(2 * min + 9);
      });

      test('takes no copy of an object that is gone, has changed, or has no such bytes', async () => {
        const { store, partBytesMin: min } = target;
        const below = prefix();
        const source = await stored('source', bytesOf(min + 1, 'before'));
        const upload = await store.createUpload(`${below}whole`);
        const copying = (range?: { startByte: number; endByte: number }) =>
          store.copyPart(upload, { number: 1, source, range, sizeBytes: 2 });
        await expect(copying({ startByte: min, endByte: min + 2 })).rejects.toThrow();
        await sources().put(source.key, bytesOf(min + 1, 'after'));
        await expect(copying()).rejects.toThrow(SourceGoneError);
        await expect(copying({ startByte: 0, endByte: 2 })).rejects.toThrow(SourceGoneError);
        await sources().delete(source.key);
        await expect(copying()).rejects.toThrow(SourceGoneError);
        expect(await partsOf(upload)).toEqual([]);
        await store.abort(upload);
      });

      const ends = {
        aborted: (upload: MultipartUpload) => target.store.abort(upload),
        completed: async (upload: MultipartUpload) =>
          void (await target.store.complete(upload, await partsOf(upload))),
      };
      test.each(Object.entries(ends))('that was %s is gone', async (how, end) => {
        const { store } = target;
        const below = prefix();
        const source = await stored('source', Buffer.from('source'));
        const upload = await store.createUpload(`${below}whole`);
        const part = await store.uploadPart(upload, { number: 1, bytes: Buffer.from('x') });
        await end(upload);
        await expect(store.uploadPart(upload, { number: 1, bytes: Buffer.from('y') })).rejects.toThrow(
          UploadGoneError,
        );
        await expect(store.copyPart(upload, { number: 1, source, sizeBytes: 6 })).rejects.toThrow(
          UploadGoneError,
        );
        await expect(partsOf(upload)).rejects.toThrow(UploadGoneError);
        expect(await all(store.uploads(below))).toEqual([]);
        await store.abort(upload);
        expect(await store.get(upload.key)).toEqual(how === 'completed' ? bytesLike('x') : undefined);
        if (how === 'completed') return;
        await expect(store.complete(upload, [part])).rejects.toThrow(UploadGoneError);
      });

      test('that was completed is either gone, or says again what it has said', async () => {
        const { store } = target;
        const upload = await store.createUpload(`${prefix()}whole`);
        const part = await store.uploadPart(upload, { number: 1, bytes: Buffer.from('x') });
        const first = await store.complete(upload, [part]);
        const again = await store.complete(upload, [part]).catch((error: unknown) => error);
        if (!(again instanceof UploadGoneError)) expect(again).toEqual(first);
      });

      test('becomes an object only if there is none, if that is asked for', async () => {
        const { store } = target;
        const key = `${prefix()}whole`;
        const began = async (text: string) => {
          const upload = await store.createUpload(key);
          return { upload, part: await store.uploadPart(upload, { number: 1, bytes: Buffer.from(text) }) };
        };
        const complete = ({ upload, part }: Awaited<ReturnType<typeof began>>, ifAbsent = true) =>
          store.complete(upload, [part], { ifAbsent });
        const [first, second, third] = [await began('first'), await began('second'), await began('third')];
        await complete(first);
        await expect(complete(second)).rejects.toThrow(ObjectExistsError);
        expect(await read(key)).toEqual(Buffer.from('first'));
        // It is unfinished as before.
        expect(await partsOf(second.upload)).toEqual([second.part]);
        await store.delete([key]);
        await complete(second);
        expect(await read(key)).toEqual(Buffer.from('second'));
        await complete(third, false);
        expect(await read(key)).toEqual(Buffer.from('third'));
      });

      test('becomes an object but once, if others do so at the same time', async () => {
        const { store } = target;
        const key = `${prefix()}whole`;
        const uploads = await Promise.all(
          ['a', 'b', 'c', 'd'].map(async (text) => {
            const upload = await store.createUpload(key);
            return {
              upload,
              parts: [await store.uploadPart(upload, { number: 1, bytes: Buffer.from(text) })],
            };
          }),
        );
        const completed = await Promise.allSettled(
          uploads.map(({ upload, parts }) => store.complete(upload, parts, { ifAbsent: true })),
        );
        const failed = completed.filter((each) => each.status === 'rejected');
        expect(failed.map(({ reason }) => reason)).toEqual(Array(3).fill(expect.any(ObjectExistsError)));
        const winner = completed.findIndex(({ status }) => status === 'fulfilled');
        expect(await read(key)).toEqual(Buffer.from('abcd'[winner] ?? ''));
        for (const { upload } of uploads) await store.abort(upload);
      });

      test('becomes an object only of the size that is told', async () => {
        const { store } = target;
        const upload = await store.createUpload(`${prefix()}whole`);
        const part = await store.uploadPart(upload, { number: 1, bytes: Buffer.from('12345') });
        for (const totalBytes of [4, 6])
          await expect(store.complete(upload, [part], { totalBytes })).rejects.toThrow();
        expect(await store.head(upload.key)).toBeUndefined();
        await store.complete(upload, [part], { totalBytes: 5 });
        expect((await store.head(upload.key))?.sizeBytes).toBe(5);
      });

      testUnless(
        skips.many,
        'lists thousands of parts',
        async () => {
          const { store } = target;
          const upload = await store.createUpload(`${prefix()}whole`);
          const numbers = Array.from({ length: 1003 }, (_, index) => 2 * index + 1);
          const left = numbers.values();
          const worker = async () => {
            for (const number of left) await store.uploadPart(upload, { number, bytes: Buffer.from('x') });
          };
          await Promise.all(Array.from({ length: 16 }, worker));
          expect((await partsOf(upload)).map(({ number }) => number)).toEqual(numbers);
          // A worker looks for the few of its own.
          for (const after of [1, 1000, 1999, 2005]) {
            const higher = await all(store.parts(upload, { after }));
            expect(higher.map(({ number }) => number)).toEqual(numbers.filter((number) => number > after));
          }
          await store.abort(upload);
        },
        60_000,
      );
    });

    test('the answer to a copy of a whole object tells its CRC-32, if the upload asks for that', async () => {
      const { store, partBytesMin: min } = target;
      const below = prefix();
      const bytes = bytesOf(min + 1, 'hashed');
      const source = await stored('source', bytes);
      const upload = await store.createUpload(`${below}scratch`, { withCrc32: true });
      const sizeBytes = bytes.length;
      expect((await store.copyPart(upload, { number: 1, source, sizeBytes })).crc32).toBe(crc32(bytes));
      const range = { startByte: 1, endByte: min };
      const ofRange = await store.copyPart(upload, { number: 2, source, range, sizeBytes: min - 1 });
      expect(ofRange).not.toHaveProperty('crc32');
      await store.uploadPart(upload, { number: 3, bytes: Buffer.from('x') });
      await store.abort(upload);
      const plain = await store.createUpload(`${below}plain`);
      expect(await store.copyPart(plain, { number: 1, source, sizeBytes })).not.toHaveProperty('crc32');
      await store.abort(plain);
    });

    test('unfinished uploads are found by the beginning of their keys, two of the same key too', async () => {
      const { store } = target;
      const below = prefix();
      const names = ['a', 'a', 'b ä+%', 'c/d'];
      const uploads: MultipartUpload[] = [];
      for (const name of names) uploads.push(await store.createUpload(below + name));
      const beside = await store.createUpload(`${below.slice(0, -1)}-beside`);
      const byId = (list: readonly MultipartUpload[]) =>
        [...list].sort((a, b) => (a.uploadId < b.uploadId ? -1 : 1));
      expect(byId(await all(store.uploads(below)))).toEqual(byId(uploads));
      expect(byId(await all(store.uploads(`${below}a`)))).toEqual(byId(uploads.slice(0, 2)));
      for (const upload of [...uploads, beside]) await store.abort(upload);
      expect(await all(store.uploads(below))).toEqual([]);
    });
  });
}

const bytesLike = (text: string) => Uint8Array.from(Buffer.from(text));

async function all<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const found: T[] = [];
  for await (const page of pages) found.push(...page);
  return found;
}
