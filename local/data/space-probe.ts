import { randomBytes } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** LevelDB writes its log of up to 4 MiB anew, at most twice, before it is open. */
const probeBytes = 16 * 1024 ** 2;

const chunkBytes = 1024 ** 2;

/**
 * Writes some MiB to a folder and removes them. What the file system says of its free space would leave out quotas.
 *
 * @throws the error of the file system, ENOSPC for example.
 */
export async function probeSpace(folder: string): Promise<void> {
  const path = join(folder, 'space-probe');
  // No zeros: some file systems store those in no space.
  const chunk = randomBytes(chunkBytes);
  try {
    const file = await open(path, 'w', 0o600);
    try {
      for (let written = 0; written < probeBytes; written += chunkBytes) await file.writeFile(chunk);
      await file.sync();
    } finally {
      await file.close();
    }
  } finally {
    await rm(path, { force: true });
  }
}
