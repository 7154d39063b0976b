import { readdirSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { lfsContract } from '../../../../lambda/api/contract/lfs.ts';
import { lfsLockContract } from '../../../../lambda/api/contract/lfs-locks.ts';

const folder = fileURLToPath(new URL('../../../../lambda/handlers', import.meta.url));

const credentials = fileURLToPath(
  new URL('../../../../lib/functions/environment-credentials.ts', import.meta.url),
);

/** A function's bundle, made as for a deployment. */
const bundleOf = (handler: string) =>
  build({
    entryPoints: [`${folder}/${handler}`],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    mainFields: ['module', 'main'],
    conditions: ['module'],
    alias: { '@aws-sdk/credential-provider-node': credentials },
  });

/** The modules that a function imports at its start from outside its bundle. */
async function importsOf(handler: string): Promise<string[]> {
  const { metafile } = await bundleOf(handler);
  return Object.values(metafile.outputs)
    .flatMap(({ imports }) => imports)
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => path);
}

/** It has the SDK, because most of its time is the store's, and nobody waits for its start. */
const withSdk = 'export-archive.ts';
/** It asks issuers for their keys, for which it needs undici anyway. */
const withFetch = 'exchange-token.ts';

it.each(readdirSync(folder).filter((handler) => handler !== withSdk))(
  '%s starts with modules of Node alone, and without undici',
  async (handler) => {
    const imported = await importsOf(handler);
    expect(imported.filter((path) => !isBuiltin(path))).toEqual([]);
    // From Node 22 on, an import of node:http loads it, as lambda/store/http-exchange.ts says.
    if (handler !== withFetch) expect(imported).not.toContain('node:http');
  },
);

it.each(['lfs-batch.ts', 'lfs-locks.ts', 'lfs-verify.ts'])(
  '%s has schemas, and no words about routes',
  async (handler) => {
    const { outputFiles } = await bundleOf(handler);
    const bundle = outputFiles.map(({ text }) => text).join('');
    const said = Object.values({ ...lfsContract, ...lfsLockContract }).map(({ summary }) => summary);
    expect(said.filter((summary) => bundle.includes(summary))).toEqual([]);
  },
);
