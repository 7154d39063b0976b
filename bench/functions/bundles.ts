import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { App } from 'aws-cdk-lib';
import type { FunctionName } from '../../lambda/routes.ts';
import { addStack } from '../../lib/app.ts';
import { parseStageSettings } from '../../lib/settings/parse-stage-settings.ts';
import { type PackageBytes, packageBytes } from './package-bytes.ts';

/** The bundle of one function, as it is deployed. */
export interface Bundle {
  readonly name: FunctionName;
  /** The ES module. */
  readonly file: string;
  readonly bytes: number;
  readonly gzippedBytes: number;
  /** Size of its source map, which is deployed too. */
  readonly mapBytes: number;
  /** The packages that the bytes come from, largest first. */
  readonly packages: readonly PackageBytes[];
}

export interface Bundles {
  readonly all: readonly Bundle[];
  remove(): void;
}

/** Synthesizes a stage with every function. Its assets are what a deployment would upload. */
export function bundleFunctions(): Bundles {
  const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-functions-'));
  const { context } = JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8'));
  const app = new App({
    analyticsReporting: false,
    outdir: folder,
    context: { ...context, 'aws:cdk:enable-asset-metadata': true },
  });
  const stack = addStack(app, 'bench', parseStageSettings('bench', { storeEvents: true }));
  const { Resources } = app.synth().getStackByName(stack.stackName).template;
  const all = Object.entries(Resources).flatMap(([id, resource]) => {
    const name = /^Functions(\w+?)Function[0-9A-F]{8}$/.exec(id)?.[1];
    const asset = (resource as { Metadata?: Record<string, string> }).Metadata?.['aws:asset:path'];
    return name && asset ? [bundleOf(name as FunctionName, join(folder, asset, 'index.mjs'))] : [];
  });
  return { all, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

function bundleOf(name: FunctionName, file: string): Bundle {
  const code = readFileSync(file);
  const map = readFileSync(`${file}.map`);
  return {
    name,
    file,
    bytes: code.length,
    gzippedBytes: gzipSync(code).length,
    mapBytes: map.length,
    packages: packageBytes({ code: code.toString(), map: map.toString() }),
  };
}
