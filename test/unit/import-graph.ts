import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Who imports whom, read from the text of every source file. Type imports count as imports. */

const root = path.join(import.meta.dirname, '../..');
const folders = ['bench', 'bin', 'cli', 'console', 'cost', 'lambda', 'lib', 'local', 'test'];

const isSource = (file: string) => /\.(ts|tsx|mjs|js)$/.test(file) && !file.includes('/out/');

function filesBelow(folder: string): string[] {
  const files = readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' });
  return files.map((file) => path.posix.join(folder, file.replaceAll('\\', '/')));
}

/** Every source file, by its path from the root → its text. */
export const sources: ReadonlyMap<string, string> = new Map(
  [...readdirSync(root), ...folders.flatMap(filesBelow)]
    .filter(isSource)
    .map((file) => [file, readFileSync(path.join(root, file), 'utf8')]),
);

export interface Import {
  readonly from: string;
  /** The path of a file from the root, or the specifier of a package. */
  readonly to: string;
  readonly isRelative: boolean;
  /** Whether it names types alone, so that nothing is loaded. One of single types, `import { type … }`, loads its file. */
  readonly isType: boolean;
}

/** `import`, `export … from` and `import('…')`, with and without `type`. */
const importPattern = /^(?:import|export)\s(?:[^'"`;]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm;

/** The imports of a file with this text. */
export function importsIn(from: string, text: string): Import[] {
  return [...text.matchAll(importPattern)].map((match) => {
    const specifier = match[1] ?? match[2] ?? '';
    const isRelative = specifier.startsWith('.');
    const to = isRelative ? path.posix.join(path.posix.dirname(from), specifier) : specifier;
    return { from, to, isRelative, isType: /^(?:import|export)\s+type\s/.test(match[0]) };
  });
}

export const imports: readonly Import[] = [...sources].flatMap(([from, text]) => importsIn(from, text));

const targets = new Map<string, string[]>();
for (const { from, to } of imports) {
  if (sources.has(to)) targets.set(from, [...(targets.get(from) ?? []), to]);
}

/** The files that a file imports. */
export function importedBy(file: string): readonly string[] {
  return targets.get(file) ?? [];
}

/** These files and all that they import, directly or not. */
export function reachedFrom(files: readonly string[]): Set<string> {
  const reached = new Set<string>();
  const visit = (file: string) => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const to of importedBy(file)) visit(to);
  };
  for (const file of files) visit(file);
  return reached;
}
