import { isBuiltin } from 'node:module';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { contract } from '../../../../lambda/contract.ts';
import { handlerFiles, routes } from '../../../../lambda/routes.ts';
import { bundling } from '../../../../lib/functions/bundles.ts';

const folder = fileURLToPath(new URL('../../../../lambda/functions', import.meta.url));

/** It has the SDK, because most of its time is the store's, and nobody waits for its start. */
const withSdk = 'exports/export-archive.ts';
/** It asks issuers for their keys, for which it needs undici anyway. */
const withFetch = 'ci/exchange-token.ts';
const handlers = Object.values(handlerFiles).filter((handler) => handler !== withSdk);

/** The functions' bundles, made as for a deployment. */
const { metafile, outputFiles } = await build({
  entryPoints: handlers.map((handler) => `${folder}/${handler}`),
  ...bundling,
  minify: false,
  metafile: true,
  outdir: 'bundles',
});
const bundleOf = (handler: string) => `bundles/${handler.replace('.ts', '.mjs')}`;

it.each(handlers)('%s starts with modules of Node alone, and without undici', (handler) => {
  const imported = metafile.outputs[bundleOf(handler)]?.imports
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => path);
  expect(imported?.filter((path) => !isBuiltin(path))).toEqual([]);
  // From Node 22 on, an import of node:http loads it, as lambda/core/store/http-exchange.ts says.
  if (handler !== withFetch) expect(imported).not.toContain('node:http');
});

const lfsRoutes = routes.filter(({ path }) => path.includes('/info/lfs/'));

it.each([...new Set(lfsRoutes.map((route) => handlerFiles[route.function]))])(
  '%s has schemas, and no words about routes',
  (handler) => {
    const bundle = outputFiles.find(({ path }) => path.endsWith(bundleOf(handler)))?.text;
    expect(bundle).toBeDefined();
    const said = lfsRoutes.map(
      ({ method, path }) => contract[`${method} ${path}` as keyof typeof contract].summary,
    );
    expect(said.filter((summary) => bundle?.includes(summary))).toEqual([]);
  },
);
