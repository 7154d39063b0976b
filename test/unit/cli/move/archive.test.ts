import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { openArchive } from '../../../../cli/move/archive.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();

function member(name: string, text: string): Buffer {
  const head = Buffer.alloc(512);
  head.write(name, 0);
  head.write(text.length.toString(8).padStart(11, '0'), 124);
  head.write('ustar', 257);
  return Buffer.concat([head, Buffer.from(text.padEnd(Math.ceil(text.length / 512) * 512, '\0'))]);
}

/** The index has more than two of the pieces that are read at a time, and lines lie across them. */
function archiveOf({ cutBytes = 0 } = {}) {
  const oids = Array.from({ length: 6_000 }, (_, index) => index.toString(16).padStart(64, '0'));
  const lines = oids.map(
    (oid, index) => `${oid} ${String(index).padStart(16)} ${String(512).padStart(16)}\n`,
  );
  const index = lines.join('');
  const whole = [member('lfs/export/manifest.json', '{}'), member('lfs/export/index-1.txt', index)];
  const file = path.join(tempFolder(), 'export.tar');
  const bytes = Buffer.concat(whole);
  const endBytes = 1024 + 512 + index.length;
  writeFileSync(file, cutBytes === 0 ? bytes : bytes.subarray(0, endBytes - cutBytes));
  return { file, oids };
}

it('reads an index of many pieces', async () => {
  const { file, oids } = archiveOf();
  const archive = await openArchive(file);
  expect(archive.objects).toEqual(oids.map((oid, sizeBytes) => ({ oid, sizeBytes })));
  await archive.close();
});

it.each([1, 50, 99, 300_000])('says that an index without its last %d bytes is damaged', async (cutBytes) => {
  await expect(openArchive(archiveOf({ cutBytes }).file)).rejects.toThrow(
    'The index of the archive is damaged.',
  );
});
