import { expect, it } from 'vitest';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import { absent } from '../../../../../lambda/core/table/expressions.ts';
import { putItem } from '../../../../../lambda/core/table/requests.ts';
import { inState, newUpload, withToken } from '../../../../../lambda/subjects/chunks/rules/upload.ts';
import { createDynamoDbChunkedUploads } from '../../../../../lambda/subjects/chunks/upload-store.ts';
import { memoryTable } from '../../../../support/memory/table.ts';

it('reads what an older version wrote: its worker has no lease, and its tokens are nobody’s', async () => {
  const table = memoryTable();
  const path = { tenant: 'acme', repo: 'game', oid: 'b'.repeat(64), upload: 'c'.repeat(32) };
  const made = newUpload(defaultSettings, { ...path, sizeBytes: 6e9, madeBy: 'ada', nowMs: 1 });
  const { leaseUntilMs, ...older } = withToken(inState(made, 'assembling', 2), { sha256: 'd' }, 3);
  const key = { pk: `UPLOAD#acme#game#${path.oid}`, sk: path.upload };
  await putItem(table, { item: { ...key, ...older, version: 0, writeId: 'w' }, condition: absent });
  expect(await createDynamoDbChunkedUploads(table).read(path)).toEqual({ ...older, leaseUntilMs: 0 });
});
