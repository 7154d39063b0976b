import path from 'node:path';
import { parseSync } from 'oxc-parser';

/** What is left of a checkout once a subject's folders are gone, and its lines in lists. */

interface RemovedLine {
  readonly file: string;
  /** From 1, as it was. */
  readonly line: number;
  readonly text: string;
}

export interface Rest {
  /** The files that were in the subjects' folders. */
  readonly deleted: readonly string[];
  /** In other files. */
  readonly removed: readonly RemovedLine[];
  /** The files of which lines were removed, as they are then. */
  readonly changed: ReadonlyMap<string, string>;
}

const rooms = 'lambda|lib|cli|console|local|test|bench|cost';
const isSource = (file: string) => /\.(ts|tsx|mjs)$/.test(file);

/** Subjects, and those that import them, or one of these: they come off with them. */
export function subjectsWith(
  sources: ReadonlyMap<string, string>,
  subjects: readonly string[],
): readonly string[] {
  const found = new Set(subjects);
  const nameOf = (file: string) => /^lambda\/subjects\/([\w-]+)\//.exec(file)?.[1];
  const imports = [...sources].flatMap(([file, text]) => {
    const by = nameOf(file);
    const froms = by === undefined ? [] : statementsOf(file, text).map(({ from }) => nameOf(from));
    return froms.map((from) => ({ file, by, from }));
  });
  // A set goes on with what is added to it.
  for (const name of found)
    for (const { file, by, from } of imports)
      if (from === name && by !== undefined && !file.includes(`/${name}/`)) found.add(by);
  return [...found];
}

/** Each import, of a file by a file. */
export function importsOf(sources: ReadonlyMap<string, string>): readonly { by: string; from: string }[] {
  return [...sources].flatMap(([by, text]) => {
    if (!isSource(by)) return [];
    const loaded = [...text.matchAll(/import\('([^']+)'\)/g)].map(([, specifier = '']) =>
      path.posix.join(path.posix.dirname(by), specifier),
    );
    return [...loaded, ...statementsOf(by, text).map(({ from }) => from)].map((from) => ({ by, from }));
  });
}

/** These files, and all that they import, or (`up`) that import them. */
export function reachedFrom(
  imports: ReturnType<typeof importsOf>,
  files: readonly string[],
  { up = false } = {},
): ReadonlySet<string> {
  const next = new Map<string, string[]>();
  for (const { by, from } of imports) {
    const [at, to] = up ? [from, by] : [by, from];
    next.set(at, [...(next.get(at) ?? []), to]);
  }
  const reached = new Set(files);
  // A set goes on with what is added to it.
  for (const file of reached) for (const to of next.get(file) ?? []) reached.add(to);
  return reached;
}

/** @param sources every file of the checkout → its text. Files that aren't source may have any. */
export function removeSubjects(sources: ReadonlyMap<string, string>, subjects: readonly string[]): Rest {
  const own = new RegExp(`^(${rooms})/(.*/)?(${subjects.join('|')})/`);
  const deleted = [...sources.keys()].filter((file) => own.test(file));
  const gone = new Set(deleted);
  const files = [...sources]
    .filter(([file]) => isSource(file) && !own.test(file))
    .map(([file, text]) => new Source(file, text));
  const byName = new Map(files.map((file) => [file.file, file]));
  const isGone = (file: string, name: string) => gone.has(file) || byName.get(file)?.exports.has(name);
  // A list that is imported by a list loses a name, too.
  while (files.filter((file) => file.removeLines(gone, isGone)).length > 0);
  const changed = files.filter((file) => file.removed.size > 0);
  return {
    deleted,
    removed: changed.flatMap((file) => file.removedLines()),
    changed: new Map(changed.map((file) => [file.file, file.rest()])),
  };
}

type IsGone = (file: string, name: string) => boolean | undefined;

class Source {
  readonly file: string;
  /** Names that it no longer exports. */
  readonly exports = new Set<string>();
  /** Indexes of lines. */
  readonly removed = new Set<number>();
  readonly #lines: readonly string[];
  readonly #statements: readonly Statement[];
  /** Names that it no longer has, and `list.name` of what it imports as a whole. */
  readonly #names = new Set<string>();

  constructor(file: string, text: string) {
    this.file = file;
    this.#lines = text.split('\n');
    this.#statements = statementsOf(file, text);
  }

  /** @returns whether it removed one. */
  removeLines(files: ReadonlySet<string>, isGone: IsGone): boolean {
    const before = this.removed.size + this.exports.size + this.#names.size;
    for (const statement of this.#statements) this.#removeFrom(statement, files, isGone);
    if (this.#names.size > 0) {
      const entry = entryOf([...this.#names]);
      for (const [index, line] of this.#lines.entries()) if (isEntry(entry, line)) this.removed.add(index);
    }
    for (const [index, line] of this.#lines.entries())
      if (loadsOneOf(this.file, line, files)) this.removed.add(index);
    return this.removed.size + this.exports.size + this.#names.size > before;
  }

  #removeFrom({ from, first, last, names }: Statement, files: ReadonlySet<string>, isGone: IsGone): void {
    const lost = names.filter(({ imported }) => isGone(from, imported));
    for (const { local, exported } of lost) {
      if (local !== undefined) this.#names.add(local);
      if (exported !== undefined) this.exports.add(exported);
    }
    if (files.has(from) || (lost.length > 0 && lost.length === names.length))
      for (let line = first; line <= last; line += 1) this.removed.add(line);
    for (const { imported, local } of names) {
      if (imported !== '*' || local === undefined) continue;
      const members = new RegExp(`\\b${local}\\.(\\w+)`, 'g');
      for (const [, member = ''] of this.#lines.join('\n').matchAll(members))
        if (isGone(from, member)) this.#names.add(`${local}.${member}`);
    }
  }

  removedLines(): RemovedLine[] {
    return [...this.removed]
      .sort((a, b) => a - b)
      .map((index) => ({ file: this.file, line: index + 1, text: this.#lines[index]?.trim() ?? '' }));
  }

  rest(): string {
    return this.#lines.filter((_, index) => !this.removed.has(index)).join('\n');
  }
}

/** An import, or an export of what another file has. */
interface Statement {
  readonly from: string;
  /** Indexes of lines. */
  readonly first: number;
  readonly last: number;
  readonly names: readonly {
    /** `*`: all of it. */
    readonly imported: string;
    readonly local?: string;
    readonly exported?: string;
  }[];
}

function statementsOf(file: string, text: string): Statement[] {
  const { staticImports, staticExports } = parseSync(file, text).module;
  const lineOf = (offset: number) => text.slice(0, offset).split('\n').length - 1;
  const target = (specifier: string) => path.posix.join(path.posix.dirname(file), specifier);
  const at = ({ start, end }: { start: number; end: number }) => ({
    first: lineOf(start),
    last: lineOf(end),
  });
  const imports = staticImports.map((each) => ({
    ...at(each),
    from: target(each.moduleRequest.value),
    names: each.entries.map(({ importName, localName }) => ({
      imported: importName.name ?? '*',
      local: localName.value,
    })),
  }));
  const exports = staticExports.flatMap((each) => {
    const from = each.entries[0]?.moduleRequest?.value;
    if (from === undefined) return [];
    const names = each.entries.map(({ importName, exportName }) => ({
      imported: importName.name ?? '*',
      exported: exportName.name ?? '*',
    }));
    return [{ ...at(each), from: target(from), names }];
  });
  return [...imports, ...exports];
}

/** One of these names alone on its line: `name,`, `...name,`, `key: name(of),`, `Needs<typeof name> &`, `name(of);`. */
function entryOf(names: readonly string[]): RegExp {
  const name = `(?:${names.map((each) => each.replace('.', '\\.')).join('|')})(?![\\w.])`;
  const key = `(?:(?:\\w+|'[^']*')\\??: )?`;
  return new RegExp(`^(?:[&|] |type |\\.\\.\\.)?${key}(?:\\w+<)?(?:typeof )?${name}.*[,&;]$`);
}

function isEntry(entry: RegExp, line: string): boolean {
  const text = line.trim();
  return entry.test(text) && depthOf(text) === 0;
}

/** An entry that loads a file when it's needed. */
function loadsOneOf(file: string, line: string, files: ReadonlySet<string>): boolean {
  const [, specifier] = /^\s*(?:\w+|'[^']*'): \(\) => import\('([^']+)'\).*,$/.exec(line) ?? [];
  return specifier !== undefined && files.has(path.posix.join(path.posix.dirname(file), specifier));
}

/** How many brackets a line opens and doesn't close. */
function depthOf(text: string): number {
  return [...text].reduce(
    (depth, char) => depth + ('([{'.includes(char) ? 1 : ')]}'.includes(char) ? -1 : 0),
    0,
  );
}
