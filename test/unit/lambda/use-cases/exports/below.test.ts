import { expect, it } from 'vitest';
import { abortUploads, deleteBelow } from '../../../../../lambda/use-cases/exports/below.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';

/** More than fit on a page, and one beside the prefix. */
const keys = ['a/1', 'a/2', 'a/b/3', 'a-1'];

it('aborts every upload below a prefix, and no other', async () => {
  const archives = new MemoryArchiveStore({ pageSize: 2 });
  for (const key of keys) await archives.createUpload(key);
  await abortUploads({ archives }, 'a/');
  expect(archives.openUploads.map(({ key }) => key)).toEqual(['a-1']);
});

it('deletes every object below a prefix, and no other', async () => {
  const archives = new MemoryArchiveStore();
  for (const key of keys) await archives.put(key, Buffer.from('x'));
  await deleteBelow({ archives }, 'a/');
  expect(archives.objects.objectCount).toBe(1);
});
