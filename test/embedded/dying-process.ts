import { execFile } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';

const root = join(import.meta.dirname, '../..');

/** Work with a data folder that dies on its way. It resolves to the number of steps. */
export type Dying = (
  what: 'open' | 'restore' | 'backup',
  folder: string,
  options?: { beforeStep?: number; backup?: string },
) => Promise<number>;

/** Bundles dying-child.ts into a folder, as it is started dozens of times. @returns what runs it. */
export async function dyingIn(folder: string): Promise<Dying> {
  const program = join(folder, 'dying-child.mjs');
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  await build({
    entryPoints: [join(import.meta.dirname, 'dying-child.ts')],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['classic-level'],
    banner: { js: "import{createRequire as r}from'node:module';const require=r(import.meta.url);" },
  });
  return async (what, dataPath, { beforeStep, backup = '' } = {}) => {
    const args = [program, what, dataPath, String(beforeStep ?? 'none'), backup];
    return Number((await promisify(execFile)(process.execPath, args)).stdout);
  };
}
