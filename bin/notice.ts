import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

/** A package of which something is in the bundle. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** Its licences and notices, and those of what it has from others. */
  readonly texts: readonly string[];
}

const packageJson = z.object({ name: z.string(), version: z.string(), license: z.string() });

/** The packages that a bundle was made from. @param inputs paths of its sources, as esbuild's metafile has them. */
export function bundledPackages(inputs: readonly string[], root: string): readonly BundledPackage[] {
  const folders = new Set(
    inputs.flatMap(
      (input) => input.match(/node_modules\/(?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+/)?.[0] ?? [],
    ),
  );
  return [...folders].sort().map((folder) => {
    const file = path.join(root, folder, 'package.json');
    return {
      ...packageJson.parse(JSON.parse(readFileSync(file, 'utf8'))),
      texts: licenceTexts(path.join(root, folder)),
    };
  });
}

function licenceTexts(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(
      (file) => !file.includes('node_modules') && /(^|[\\/])(licen[cs]e|copying|notice)(\.\w+)?$/i.test(file),
    )
    .sort()
    .map((file) => readFileSync(path.join(folder, file), 'utf8').replaceAll('\r\n', '\n').trim());
}

/** Others have conditions that this package's own licence may not meet. */
const allowed = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'MIT-0'];

/**
 * Who made what is in the bundle, and on which conditions. Each text is there once, below the packages that have it.
 *
 * @throws {Error} for a licence that nobody has looked at.
 */
export function noticeOf(packages: readonly BundledPackage[], { font }: { font: string }): string {
  const byText = new Map<string, string[]>([
    [readFileSync(font, 'utf8').trim(), ['Instrument Sans (OFL-1.1)']],
  ]);
  for (const { name, version, license, texts } of packages) {
    if (!allowed.includes(license))
      throw new Error(`${name} has the licence ${license}. Read it, then add it to bin/notice.ts.`);
    for (const text of texts.length > 0 ? texts : ['']) {
      byText.set(text, [...(byText.get(text) ?? []), `${name} ${version} (${license})`]);
    }
  }
  const parts = [...byText].map(([text, names]) => `${names.join('\n')}\n\n${text}`.trim());
  return `${['lfs-quota contains:', ...parts].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

const sbom = z.looseObject({
  metadata: z.looseObject({ component: z.looseObject({}) }),
  components: z.array(z.looseObject({ 'bom-ref': z.string() })),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

/** What npm's CycloneDX document says of these packages. To npm, all that is bundled is for development. */
export function sbomOf(packages: readonly BundledPackage[], root: string): unknown {
  const args = '--no-global --package-lock-only --sbom-format=cyclonedx --sbom-type=application';
  const text = execFileSync('npm', ['sbom', ...args.split(' ')], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  const { metadata, components, dependencies, ...rest } = sbom.parse(JSON.parse(text));
  const refs = new Set(packages.map(({ name, version }) => `${name}@${version}`));
  return {
    ...rest,
    metadata: { ...metadata, component: { ...metadata.component, name: 'lfs-quota' } },
    components: components
      .filter((each) => refs.has(each['bom-ref']))
      .map(({ properties: _, ...component }) => component),
    dependencies: dependencies
      .filter(({ ref }) => refs.has(ref) || ref === metadata.component['bom-ref'])
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) })),
  };
}
