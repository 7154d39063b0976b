import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { plainEnvironment, run } from '../../../../support/process.ts';

const root = path.join(import.meta.dirname, '../../../../..');

/** As `agent` begins, then makes much that lives for a while. Prints how large V8's young generation is in the end. */
const program = `
import { open } from 'node:fs/promises';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
const { PartHasher } = await import(${JSON.stringify(pathToFileURL(path.join(root, 'cli/subjects/chunks/part-hasher.ts')))});
setFlagsFromString('--semi-space-growth-factor=1');
const file = await open('package.json');
const hasher = new PartHasher(file);
await hasher.hash({ startByte: 0, sizeBytes: 64, before: '0'.repeat(64), isLast: false });
const kept = [];
for (let made = 0; made < 4_000_000; made += 1) kept[made % 60_000] = { made: [made] };
console.log(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size);
await hasher.close();
await file.close();
`;

it('starts a thread that leaves V8’s young generation as small as it was', async () => {
  const place = { cwd: root, env: plainEnvironment(), timeoutMs: 300_000 };
  const args = ['--import', 'tsx', '--input-type=module', '-e', program];
  const { out, err } = await run(process.execPath, args, place);
  expect(err).toBe('');
  // It begins with up to 8 MB, from which it would double to 32.
  expect(Number(out)).toBeGreaterThan(0);
  expect(Number(out)).toBeLessThan(16 * 1024 ** 2);
});
