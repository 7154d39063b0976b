import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { consoleInputs, packConsole } from '../console/build/pack.ts';
import { ownRelease } from '../lib/release.ts';
import { bundledPackages, noticeOf, sbomOf } from './notice.ts';

/**
 * Builds what the packed package runs (`npm pack`), which needs nothing but Node: the command line and the server in a
 * few files, the console, the native part of the table, and the licences of all that. Tests give another folder than
 * `dist`.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const outdir = path.resolve(root, process.argv[2] ?? 'dist');
/** Where the package runs; it has no other native part. */
const platforms = /classic-level\/prebuilds$|\/(linux|darwin|win32-x64)[^/]*(\/[^/]+)?$/;

rmSync(outdir, { recursive: true, force: true });
mkdirSync(outdir, { recursive: true });
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: {
    'lfs-quota': 'cli/main.ts',
    'hash-thread': 'cli/subjects/chunks/hash-thread.ts',
  },
  outdir,
  bundle: true,
  // A command doesn't load the server.
  splitting: true,
  metafile: true,
  minify: true,
  // Names of classes are shown: an error's name is part of its message.
  keepNames: true,
  legalComments: 'none',
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  mainFields: ['module', 'main'],
  conditions: ['module'],
  define: { builtFrom: JSON.stringify(ownRelease()) },
  // Only a checkout builds the console when it is opened.
  external: ['./console/build/pack.ts'],
  // Packages in CommonJS use these of Node, which an ES module does not have.
  banner: {
    js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url), __dirname = import.meta.dirname;",
  },
});
writeFileSync(`${outdir}/console.json`, JSON.stringify(packConsole()));
cpSync(`${root}node_modules/classic-level/prebuilds`, `${outdir}/prebuilds`, {
  recursive: true,
  filter: (from) => platforms.test(from.replaceAll('\\', '/')),
});
const inputs = Object.values(metafile.outputs).flatMap((output) => Object.keys(output.inputs));
const packages = bundledPackages([...inputs, ...consoleInputs()], root);
writeFileSync(`${outdir}/NOTICE`, noticeOf(packages, { font: `${root}console/fonts/OFL.txt` }));
writeFileSync(`${outdir}/sbom.json`, JSON.stringify(sbomOf(packages, root), undefined, 2));
