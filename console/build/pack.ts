import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib';
import { type BuildOptions, buildSync } from 'esbuild';
import type { PackedConsole, PackedFile } from '../../lambda/core/rules/packed-console.ts';

const folder = fileURLToPath(new URL('..', import.meta.url));

/** What the page looks like before its script runs. */
const icon =
  "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 20 14'><rect width='20' height='14' rx='3' fill='#9fd5cb'/>" +
  "<path d='M3 0h8v14H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z' fill='#12857a'/></svg>";

/**
 * Builds the console in memory: some 100 ms. Each file's name has a hash of its content, so a browser may keep it for
 * ever.
 *
 * @param quality of brotli. The best, 11, is for what is deployed.
 */
export function packConsole({ quality = 11 }: { quality?: number } = {}): PackedConsole {
  // Instrument Sans (OFL), cut to ASCII, and to the signs and weights that are used, from
  // `@fontsource-variable/instrument-sans` 5.3.0 by:
  //
  // fonttools varLib.instancer instrument-sans-latin-wght-normal.woff2 wght=400:600 -o weights.woff2
  // pyftsubset weights.woff2 --flavor=woff2 --layout-features=tnum --name-IDs=0,1,2 --drop-tables+=STAT,GDEF,GPOS,prep \
  // --unicodes=U+0020-007E,U+00A0,U+00B7,U+2013,U+2026,U+2191,U+2193,U+2212
  const font = readFileSync(`${folder}fonts/instrument-sans.woff2`);
  const fontName = named('instrument-sans', 'woff2', font);
  const style = styleSheet().replaceAll('instrument-sans.woff2', fontName);
  const styleName = named('style', 'css', style);
  const { scripts, entry, needed } = bundledScripts();
  const page = pageOf({ fontName, styleName, scriptName: entry, needed });
  return {
    page: packed('text/html; charset=utf-8', page, quality),
    assets: {
      [fontName]: stored('font/woff2', font),
      [styleName]: packed('text/css; charset=utf-8', style, quality),
      ...Object.fromEntries(
        Object.entries(scripts).map(([name, text]) => [
          name,
          packed('text/javascript; charset=utf-8', text, quality),
        ]),
      ),
    },
  };
}

/** The rules of all parts, each of which imports its own, in one file: they apply to whatever is shown. */
const styleSheet = () =>
  bundled({ entryPoints: ['src/main.tsx'], outdir: 'out' }).outputFiles.find(({ path }) =>
    path.endsWith('.css'),
  )?.text ?? '';

const scriptOptions: BuildOptions = {
  entryPoints: { console: 'src/main.tsx' },
  splitting: true,
  outdir: 'out',
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  metafile: true,
  loader: { '.css': 'empty' },
};

/** The files that the console's scripts are made from. */
export const consoleInputs = () => Object.keys(bundled(scriptOptions).metafile?.inputs ?? {});

/** The script of the page, and a part for each view, which it fetches when it needs it. */
function bundledScripts() {
  const { outputFiles, metafile } = bundled(scriptOptions);
  const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);
  const scripts = Object.fromEntries(outputFiles.map(({ path, text }) => [nameOf(path), text]));
  const [entry, { imports }] = Object.entries(metafile?.outputs ?? {}).find(
    ([, { entryPoint }]) => entryPoint === 'src/main.tsx',
  ) ?? ['', { imports: [] }];
  const needed = imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => nameOf(path));
  return { scripts, entry: nameOf(entry), needed };
}

function bundled(options: BuildOptions) {
  return buildSync({
    absWorkingDir: folder,
    bundle: true,
    minify: true,
    format: 'esm',
    // Custom properties, container queries and light-dark() have been in all browsers since 2024.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    // Calls of `h` are shorter than those of Preact's jsx-runtime, which the types are from.
    tsconfigRaw: { compilerOptions: { jsx: 'react', jsxFactory: 'h', jsxFragmentFactory: 'Fragment' } },
    inject: ['../node_modules/preact/dist/preact.mjs'],
    external: ['*.woff2'],
    legalComments: 'none',
    charset: 'utf8',
    ...options,
    // What is built is not written.
    write: false,
  });
}

/** @param names.needed the parts that the script starts with, so that they don't wait for it. */
function pageOf(names: {
  fontName: string;
  styleName: string;
  scriptName: string;
  needed: readonly string[];
}): string {
  const { fontName, styleName, scriptName, needed } = names;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>lfs-quota</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<link rel="icon" href="data:image/svg+xml,${icon.replaceAll('#', '%23')}">
<link rel="preload" href="/assets/${fontName}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="/assets/${styleName}">
${needed.map((name) => `<link rel="modulepreload" href="/assets/${name}">\n`).join('')}<script type="module" src="/assets/${scriptName}"></script>
</head>
<body>
<div id="console"></div>
<noscript><p class="alone">This page needs JavaScript. The same figures: <code>npx lfs-quota usage TENANT</code></p></noscript>
</body>
</html>
`;
}

const hashOf = (content: string | Buffer) => createHash('sha256').update(content).digest('hex').slice(0, 16);

const named = (name: string, ending: string, content: string | Buffer) =>
  `${name}-${hashOf(content)}.${ending}`;

function packed(type: string, text: string, quality: number): PackedFile {
  const content = Buffer.from(text);
  const params = { [zlib.BROTLI_PARAM_QUALITY]: quality, [zlib.BROTLI_PARAM_SIZE_HINT]: content.length };
  return {
    ...stored(type, content),
    bodies: {
      identity: content.toString('base64'),
      gzip: gzipSync(content, { level: 9 }).toString('base64'),
      br: brotliCompressSync(content, { params }).toString('base64'),
    },
  };
}

/** A font is packed already. */
const stored = (type: string, content: Buffer): PackedFile => ({
  type,
  etag: hashOf(content),
  bodies: { identity: content.toString('base64') },
});
