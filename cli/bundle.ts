import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/**
 * Builds `dist/lfs-quota.js`, all of the command line in one file, which the packed package runs (`npm pack`). Tests
 * give another file: the bundle starts several times as fast as the source.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const [outfile] = process.argv.slice(2);

if (outfile === undefined) await rm(`${root}dist`, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: ['cli/main.ts'],
  outfile: outfile ?? 'dist/lfs-quota.js',
  bundle: true,
  minify: true,
  // Names of classes are shown: an error's name is part of its message.
  keepNames: true,
  legalComments: 'inline',
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  mainFields: ['module', 'main'],
  conditions: ['module'],
  // Packages in CommonJS ask for Node's own modules by `require`, which an ES module does not have.
  banner: {
    js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);",
  },
});
