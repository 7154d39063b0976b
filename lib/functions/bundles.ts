import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { type BuildOptions, buildSync, type OutputFile } from 'esbuild';
import { packConsole } from '../../console/build/pack.ts';

const projectRoot = fileURLToPath(new URL('../..', import.meta.url));

/**
 * A bundle contains every package that a function uses, so a start reads one file, and no SDK of the runtime. The
 * conditions select ES modules: CommonJS ones would call `require` in an ES module and fail at load.
 */
export const bundling = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  minify: true,
  mainFields: ['module', 'main'],
  conditions: ['module'],
  alias: {
    '@aws-sdk/credential-provider-node': fileURLToPath(
      new URL('environment-credentials.ts', import.meta.url),
    ),
  },
  absWorkingDir: projectRoot,
  write: false,
  // What one function has is relative to the project: the same from each checkout.
  outdir: 'cdk.out',
  outExtension: { '.js': '.mjs' },
} as const satisfies BuildOptions;

/** The code of a stage's functions. All are bundled at once, when the first is asked for: they share most of it. */
export class Bundles {
  readonly #files: readonly string[];
  readonly #define: Readonly<Record<string, string>>;
  #made: readonly OutputFile[] | undefined;

  /** @param files in `lambda/functions/`. @param define what the bundler puts in place of names: name → expression. */
  constructor(files: readonly string[], define: Readonly<Record<string, string>>) {
    this.#files = files;
    this.#define = define;
  }

  /** @param file one of them: it becomes `index.mjs`. @param more.servesConsole the console is packed beside it. */
  code(file: string, { servesConsole = false } = {}): Code {
    const tryBundle = (to: string) => {
      const folder = path.join(projectRoot, 'cdk.out', file);
      const own = this.#outputs().filter((each) => path.dirname(each.path) === folder);
      if (own.length === 0) throw new Error(`The bundler made nothing of ${file}.`);
      for (const each of own) writeFileSync(path.join(to, path.basename(each.path)), each.contents);
      if (servesConsole) writeFileSync(path.join(to, 'console.json'), JSON.stringify(packConsole()));
      return true;
    };
    return Code.fromAsset(projectRoot, {
      assetHashType: AssetHashType.OUTPUT,
      bundling: {
        local: { tryBundle },
        // Nothing runs in Docker. By its command the CDK tells one asset from another.
        image: DockerImage.fromRegistry('none'),
        command: [file, JSON.stringify(this.#define)],
      },
    });
  }

  #outputs(): readonly OutputFile[] {
    this.#made ??= buildSync({
      ...bundling,
      define: this.#define,
      entryPoints: this.#files.map((file) => ({ in: `lambda/functions/${file}`, out: `${file}/index` })),
      sourcemap: true,
      sourcesContent: false,
    }).outputFiles;
    return this.#made;
  }
}
