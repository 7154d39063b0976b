import { mkdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Damage } from '../../../../local/store/damage.ts';
import { MultipartFiles } from '../../../../local/store/files.ts';
import { bucket, StoreFixture } from '../../../support/store-fixture.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();
const mebibyte = 1024 ** 2;
let store: StoreFixture;
beforeAll(async () => {
  store = await StoreFixture.start();
});
afterAll(() => store.stop());

it('aborts an upload that was begun eight days ago, and no sooner', async () => {
  const folder = tempFolder();
  mkdirSync(folder, { recursive: true });
  const files = new MultipartFiles(folder, new Damage(folder, () => {}), () => false);
  const nowMs = 1_800_000_000_000;
  for (const hours of [1, 191, 192, 300])
    await files.create({ key: `${hours}`, withCrc32: false, initiatedAtMs: nowMs - hours * 3_600_000 });
  await files.abortAbandoned(nowMs);
  expect(
    files
      .list()
      .map(({ key }) => key)
      .sort(),
  ).toEqual(['1', '191']);
});

it.each([
  [5 * mebibyte, 200],
  [5 * mebibyte - 1, 400],
])('takes parts of 5 MiB, and fewer bytes in the last one alone: %i', async (sizeBytes, status) => {
  const path = `/${bucket}/k`;
  const begun = await store.send({ method: 'POST', path, query: { uploads: '' } });
  const uploadId = /<UploadId>(.+)<\/UploadId>/.exec(begun.body.toString())?.[1] ?? '';
  const parts = [];
  for (const [index, body] of [Buffer.alloc(sizeBytes), Buffer.from('last')].entries()) {
    const partNumber = String(index + 1);
    const { headers } = await store.send({ method: 'PUT', path, query: { partNumber, uploadId }, body });
    parts.push(`<Part><PartNumber>${partNumber}</PartNumber><ETag>${headers['etag']}</ETag></Part>`);
  }
  const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
  const made = await store.send({ method: 'POST', path, query: { uploadId }, body });
  expect([made.status, made.code]).toEqual([status, status === 200 ? undefined : 'EntityTooSmall']);
});
