import { describe, expect, it } from 'vitest';
import { defaultSettings } from '../../../../lambda/core/rules/settings.ts';
import {
  type ChunkedUpload,
  dueAtMs,
  inState,
  newUpload,
  type Proof,
  withToken,
} from '../../../../lambda/subjects/chunks/rules/upload.ts';
import {
  type ChunkedUploads,
  createDynamoDbChunkedUploads,
} from '../../../../lambda/subjects/chunks/upload-store.ts';
import { onceOpen } from '../../../support/once-open.ts';
import { type OpenTable, oid, tenantName } from '../../ledger-context.ts';

const nowMs = 1_800_000_000_000;
let made = 0;

/** A new upload, of an object of its own by default. */
function someUpload(more: Partial<ChunkedUpload> = {}): ChunkedUpload {
  const upload = (made++).toString(16).padStart(32, '0');
  const path = { tenant: tenantName(), repo: 'app', oid: oid('a'), upload };
  return { ...newUpload(defaultSettings, { ...path, sizeBytes: 10 ** 10, madeBy: 'ada', nowMs }), ...more };
}

const proofOf = (chunk: number, more: Partial<Proof> = {}): Proof => ({
  chunk,
  before: 'b'.repeat(64),
  after: 'c'.repeat(64),
  etag: '"e"',
  sizeBytes: 7,
  ...more,
});

/** What every {@link ChunkedUploads} must do. */
export function chunkedUploadsContract(table: OpenTable): void {
  describe('chunked uploads', () => {
    const uploads = onceOpen(async () => createDynamoDbChunkedUploads(await table()));
    const put = async (more: Partial<ChunkedUpload> = {}) => {
      const upload = someUpload(more);
      await uploads.put(upload);
      return upload;
    };

    it('are read as they were put, with everything that they may have', async () => {
      const upload = await put({
        state: 'assembling',
        tokens: [{ sha256: 'f'.repeat(64), untilMs: 3 }],
        multipart: { id: 'some-id', beganAtMs: 6, isAhead: true },
        putsUntilMs: 4,
        askedAtMs: 5,
      });
      expect(await uploads.read(upload)).toEqual(upload);
      expect(await uploads.read({ ...upload, repo: 'other' })).toBeUndefined();
    });

    it('are not put again over what has become of them', async () => {
      const upload = await put();
      await uploads.change(upload, (before) => inState(before, 'wrong', nowMs));
      await uploads.put(upload);
      expect((await uploads.read(upload))?.state).toBe('wrong');
    });

    it('are found by their object alone, without what is known of their chunks', async () => {
      const upload = await put();
      const second = await put({ ...upload, upload: 'f'.repeat(32) });
      await put({ ...upload, oid: oid('b') });
      await uploads.putProof(upload, proofOf(0));
      expect(await uploads.ofObject(upload)).toEqual([upload, second]);
    });

    it('change as if nobody else changed them meanwhile', async () => {
      const upload = await put();
      const add = (sha256: string) =>
        uploads.change(upload, (before) => withToken(before, { sha256 }, nowMs));
      const outcomes = await Promise.all(['a', 'b', 'c', 'd'].map((each) => add(each)));
      expect(outcomes.map((outcome) => outcome?.isChanged)).toEqual([true, true, true, true]);
      const { tokens = [] } = (await uploads.read(upload)) ?? {};
      expect(tokens.map(({ sha256 }) => sha256).sort()).toEqual(['a', 'b', 'c', 'd']);
    });

    it('change state once: whoever comes later leaves them', async () => {
      const upload = await put();
      const take = () =>
        uploads.change(upload, (before) =>
          before.state === 'open' ? inState(before, 'assembling', nowMs) : undefined,
        );
      const outcomes = await Promise.all([take(), take(), take()]);
      expect(outcomes.filter((outcome) => outcome?.isChanged)).toHaveLength(1);
      expect(outcomes.map((outcome) => outcome?.upload.state)).toEqual(Array(3).fill('assembling'));
    });

    it('are not created by a change', async () => {
      const upload = someUpload();
      expect(await uploads.change(upload, (before) => before)).toBeUndefined();
      expect(await uploads.read(upload)).toBeUndefined();
    });

    it('are due when a worker has to look at them, until they are removed', async () => {
      const upload = await put();
      const isDue = async (byMs: number) => {
        for await (const page of uploads.listDue({ nowMs: byMs }))
          if (page.some((path) => path.upload === upload.upload)) return true;
        return false;
      };
      const { tenant, repo, oid: object } = upload;
      const atMs = dueAtMs(upload);
      expect([await isDue(atMs - 1), await isDue(atMs)]).toEqual([false, true]);
      for await (const page of uploads.listDue({ nowMs: atMs }))
        for (const path of page.filter((each) => each.upload === upload.upload))
          expect(path).toEqual({ tenant, repo, oid: object, upload: upload.upload });
      await uploads.change(upload, (before) => ({
        ...inState(before, 'ended', nowMs),
        putsUntilMs: nowMs + 9,
      }));
      expect([await isDue(nowMs + 8), await isDue(nowMs + 9)]).toEqual([false, true]);
      await uploads.remove(upload);
      expect(await isDue(atMs)).toBe(false);
    });

    it('have one proof for each chunk, the last that was put', async () => {
      const upload = await put();
      for (const chunk of [9_999, 3, 0]) await uploads.putProof(upload, proofOf(chunk));
      const newer = proofOf(3, { etag: '"f"' });
      await uploads.putProof(upload, newer);
      expect(await uploads.proofs(upload)).toEqual([proofOf(0), newer, proofOf(9_999)]);
      expect(await uploads.readProof(upload, 3)).toEqual(newer);
      await uploads.deleteProof(upload, { chunk: 3, etag: '"e"' });
      expect(await uploads.readProof(upload, 3)).toEqual(newer);
      for (let time = 0; time < 2; time += 1) await uploads.deleteProof(upload, { chunk: 3, etag: '"f"' });
      expect(await uploads.proofs(upload)).toEqual([proofOf(0), proofOf(9_999)]);
    });

    it('have one SHA-256 for each chunk, the first that was asked for', async () => {
      const upload = await put();
      const chunk = { chunk: 1, sha256: 'a'.repeat(64) };
      for (let time = 0; time < 2; time += 1) expect(await uploads.fixSha256s(upload, [chunk])).toBe('fixed');
      const other = { ...chunk, sha256: 'b'.repeat(64) };
      expect(await uploads.fixSha256s(upload, [{ ...other, chunk: 2 }, other])).toBe('other');
      expect(await uploads.fixSha256s(upload, [chunk])).toBe('fixed');
      expect(await uploads.proofs(upload)).toEqual([]);
    });

    it('share nothing with those of the same batch, which have the same id', async () => {
      const upload = await put();
      const beside = await put({ ...upload, oid: oid('b') });
      await uploads.putProof(upload, proofOf(0));
      await uploads.fixSha256s(upload, [{ chunk: 1, sha256: 'a'.repeat(64) }]);
      expect([await uploads.proofs(beside), await uploads.readProof(beside, 0)]).toEqual([[], undefined]);
      expect(await uploads.fixSha256s(beside, [{ chunk: 1, sha256: 'b'.repeat(64) }])).toBe('fixed');
      await uploads.remove(beside);
      expect(await uploads.proofs(upload)).toEqual([proofOf(0)]);
      expect(await uploads.read(upload)).toEqual(upload);
    });

    it('are removed with all that is known of their chunks, and of no other upload', async () => {
      const upload = await put();
      const other = await put({ ...upload, upload: 'e'.repeat(32) });
      for (const each of [upload, other])
        for (let chunk = 0; chunk < 20; chunk += 1) await uploads.putProof(each, proofOf(chunk));
      await uploads.fixSha256s(upload, [{ chunk: 1, sha256: 'a'.repeat(64) }]);
      for (let time = 0; time < 2; time += 1) await uploads.remove(upload);
      expect(await uploads.ofObject(upload)).toEqual([other]);
      expect([await uploads.proofs(upload), (await uploads.proofs(other)).length]).toEqual([[], 20]);
      expect(await uploads.fixSha256s(upload, [{ chunk: 1, sha256: 'b'.repeat(64) }])).toBe('fixed');
    });
  });
}
