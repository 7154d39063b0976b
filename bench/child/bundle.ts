import { type ChildProcess, fork } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/**
 * Bundles a TypeScript file of this project as Lambda functions are bundled, so that loading and compiling take as
 * long, and calls into other files are as cheap.
 *
 * @returns the path of the bundle.
 */
export async function bundleProcess(file: URL): Promise<string> {
  const entry = fileURLToPath(file);
  const folder = fileURLToPath(new URL('../out/', import.meta.url));
  const outfile = path.join(folder, path.basename(entry).replace(/\.ts$/, '.mjs'));
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    mainFields: ['module', 'main'],
    conditions: ['module'],
    banner: { js: "import{createRequire as r}from'node:module';const require=r(import.meta.url);" },
  });
  return outfile;
}

export function forkBundle(bundle: string, args: readonly string[]): ChildProcess {
  return fork(bundle, args, { execArgv: ['--no-warnings'] });
}
