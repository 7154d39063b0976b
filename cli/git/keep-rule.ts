import { CliError } from '../errors.ts';
import type { Pointers, RemoteRef } from './clone.ts';
import { gitAnswers, gitText } from './git.ts';

/** Which old versions stay. */
interface KeepRule {
  /** Days after a version was replaced. */
  readonly days: number;
  /** How many versions of a path stay before those of the tips. */
  readonly versions: number;
  /** Globs of git: files of other paths keep all versions. Empty: the rule is for every file. */
  readonly only: readonly string[];
}

/** What the branches and tags of the remotes have. */
export interface AtTips {
  readonly paths: ReadonlySet<string>;
  /** oid → one of its paths, and a branch or tag that has it there. */
  readonly objects: ReadonlyMap<string, { readonly path: string; readonly ref: string }>;
}

const tipName = /^refs\/(?:heads|tags)\/(.*?)(?:\^\{\})?$/;

/** Finds what the branches and tags have. Other refs, such as those of pull requests, may never end. @throws {CliError} */
export async function readTips(
  clone: string,
  { refs, pointers }: { refs: readonly RemoteRef[]; pointers: Pointers },
): Promise<AtTips> {
  // Of the branches that have a file, the default one is said.
  const main = refs.find(({ name }) => name === 'HEAD')?.commit;
  const tips = refs
    .filter(({ name }) => tipName.test(name))
    .sort((a, b) => Number(b.commit === main) - Number(a.commit === main));
  const paths = new Set<string>();
  const objects = new Map<string, { path: string; ref: string }>();
  const refOf = new Map<string, string>();
  const commits = tips.map(({ commit }) => `${commit}^{tree}`);
  let index = 0;
  for await (const tree of gitAnswers(clone, ['cat-file', '--batch-check=%(objectname)'], commits)) {
    const { name = '', commit = '' } = tips[index] ?? {};
    index += 1;
    const ref = name.replace(tipName, '$1');
    if (!tree.endsWith(' missing')) refOf.set(tree, refOf.get(tree) ?? ref);
    // A tag may name a file.
    else for (const oid of pointers.get(commit) ?? []) objects.set(oid, { path: ref, ref });
  }
  for await (const { head, blob, path } of filesOf(clone, refOf.keys())) {
    paths.add(path);
    for (const oid of pointers.get(blob) ?? [])
      if (!objects.has(oid)) objects.set(oid, { path, ref: refOf.get(head.split(' ')[1] ?? '') ?? '' });
  }
  return { paths, objects };
}

/** What commits made of the files of a clone. */
export interface Versions {
  readonly commits: ReadonlyMap<string, Commit>;
  /** oid → the path at which it came last, by which commit, and when. Others are in no commit. */
  readonly last: ReadonlyMap<
    string,
    { readonly path: string; readonly commit: string; readonly atMs: number }
  >;
  /** Path that a tip has → its versions but for those of tips. */
  readonly older: ReadonlyMap<string, readonly Version[]>;
}

/** Finds all versions of the files in a clone. Versions are what commits made of a path, whatever they are called elsewhere. */
export async function readVersions(
  clone: string,
  { refs, pointers, tips }: { refs: readonly RemoteRef[]; pointers: Pointers; tips: AtTips },
): Promise<Versions> {
  const commits = await readCommits(clone, refs);
  const last = new Map<string, { path: string; commit: string; atMs: number }>();
  const older = new Map<string, Version[]>();
  const ofTips = ancestorsOf(commits, tipsOf(refs));
  for await (const { head: commit, blob, path } of changes(clone, ['-c'], commits.keys()))
    for (const oid of pointers.get(blob) ?? []) {
      const { atMs = 0 } = commits.get(commit) ?? {};
      if (atMs > (last.get(oid)?.atMs ?? -1)) last.set(oid, { path, commit, atMs });
      if (!tips.paths.has(path) || tips.objects.has(oid) || !ofTips.has(commit)) continue;
      const ofPath = older.get(path) ?? [];
      older.set(path, ofPath);
      ofPath.push({ oid, atMs, commit });
    }
  return { commits, last, older };
}

const tipsOf = (refs: readonly RemoteRef[]) =>
  refs.filter(({ name }) => tipName.test(name)).map(({ commit }) => commit);

/** What a rule makes of a clone. */
export interface Ruled {
  /** The oids that stay. */
  readonly kept: ReadonlySet<string>;
  /** A commit from the future: all that follows it is recent. */
  readonly future: { readonly commit: string; readonly saidMs: number } | undefined;
}

const dayMs = 24 * 60 * 60_000;

/**
 * Applies a rule. An object stays if the tip of a branch or tag has it, a commit of the last days or a parent of one, or if
 * it is one of the last versions before those of the tips at a path that a tip still has. So the age of a version counts
 * from its replacement. What is in no commit stays.
 *
 * @throws {CliError} if the remotes have no branch and no tag.
 */
export async function keepByRule(
  clone: string,
  input: {
    refs: readonly RemoteRef[];
    pointers: Pointers;
    tips: AtTips;
    versions: Versions;
    rule: KeepRule;
    nowMs: number;
  },
): Promise<Ruled> {
  const { refs, pointers, tips, rule, nowMs } = input;
  const { commits, last, older } = input.versions;
  if (tipsOf(refs).length === 0)
    throw new CliError('The remote has no branches and no tags, so a rule would keep nothing.', {
      hint: 'Check it: git ls-remote origin. Pass another one with --remote.',
    });
  const kept = new Set(tips.objects.keys());
  const keep = (blob: string) => {
    for (const oid of pointers.get(blob) ?? []) kept.add(oid);
  };
  for await (const { blob } of filesOf(clone, recentTrees(commits, nowMs - rule.days * dayMs))) keep(blob);
  for (const each of older.values()) for (const oid of newest(each, rule.versions)) kept.add(oid);
  for (const oids of pointers.values()) for (const oid of oids) if (!last.has(oid)) kept.add(oid);
  if (rule.only.length > 0) {
    const others = ['-c', '--', ':(top)', ...rule.only.map((glob) => `:(top,exclude,glob)${glob}`)];
    for await (const { blob } of changes(clone, others, commits.keys())) keep(blob);
  }
  const future = [...commits].find(([, { saidMs }]) => saidMs > nowMs + dayMs);
  return { kept, future: future && { commit: future[0], saidMs: future[1].saidMs } };
}

interface Version {
  readonly oid: string;
  readonly atMs: number;
  readonly commit: string;
}

/** The newest versions of a path. One that came back is as new as that. */
function newest(versions: readonly Version[], countMax: number): string[] {
  const sorted = versions.toSorted((a, b) => b.atMs - a.atMs || (a.commit < b.commit ? -1 : 1));
  return [...new Set(sorted.map(({ oid }) => oid))].slice(0, countMax);
}

interface Commit {
  readonly tree: string;
  readonly parents: readonly string[];
  /** By its committer's clock. */
  readonly saidMs: number;
  /** Later than its parents', whatever it says. */
  readonly atMs: number;
}

/** All commits that the clone or its remotes have a way to, each after its parents. */
async function readCommits(clone: string, refs: readonly RemoteRef[]): Promise<Map<string, Commit>> {
  const commits = new Map<string, Commit>();
  const args = ['--all', '--reflog', '--topo-order', '--reverse', '--format=%H %ct %T %P', '--stdin'];
  const starts = refs.map(({ commit }) => commit);
  for await (const line of gitAnswers(clone, ['rev-list', ...args], starts)) {
    if (line.startsWith('commit ')) continue;
    const [commit = '', seconds, tree = '', ...parents] = line.trimEnd().split(' ');
    const saidMs = Number(seconds) * 1000;
    const afterMs = parents.map((parent) => (commits.get(parent)?.atMs ?? 0) + 1);
    commits.set(commit, { tree, parents, saidMs, atMs: Math.max(saidMs, ...afterMs) });
  }
  return commits;
}

function recentTrees(commits: ReadonlyMap<string, Commit>, sinceMs: number): Set<string> {
  const trees = new Set<string>();
  for (const { atMs, tree, parents } of commits.values())
    if (atMs > sinceMs)
      for (const each of [...parents.map((parent) => commits.get(parent)?.tree), tree])
        if (each !== undefined) trees.add(each);
  return trees;
}

function ancestorsOf(commits: ReadonlyMap<string, Commit>, starts: readonly string[]): Set<string> {
  const found = new Set<string>();
  const next = [...starts];
  for (let commit = next.pop(); commit !== undefined; commit = next.pop()) {
    const known = commits.get(commit);
    if (!known || found.has(commit)) continue;
    found.add(commit);
    next.push(...known.parents);
  }
  return found;
}

interface Change {
  /** The line of the input. */
  readonly head: string;
  readonly blob: string;
  readonly path: string;
}

/** Each file of trees, at least once: what each of them has that the one before doesn't. */
async function* filesOf(clone: string, trees: Iterable<string>): AsyncGenerator<Change> {
  let before = await gitText(clone, ['hash-object', '-t', 'tree', '--stdin']);
  const pairs: string[] = [];
  for (const tree of trees) {
    pairs.push(`${before} ${tree}`);
    before = tree;
  }
  yield* changes(clone, [], pairs);
}

/** What commits, or pairs of trees, change. `-c`: of a merge, what none of its parents has. */
async function* changes(
  clone: string,
  args: readonly string[],
  lines: Iterable<string>,
): AsyncGenerator<Change> {
  let head = '';
  const diff = ['diff-tree', '--stdin', '-r', '--root', '--raw', '--no-renames', ...args];
  for await (const line of gitAnswers(clone, diff, lines)) {
    const tab = line.indexOf('\t');
    if (!line.startsWith(':')) head = line;
    else
      yield { head, blob: line.slice(0, tab).split(' ').at(-2) ?? '', path: unquoted(line.slice(tab + 1)) };
  }
}

const escapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** A path as it is: git puts one with quotes, backslashes or control characters in quotes. */
function unquoted(path: string): string {
  if (!path.startsWith('"')) return path;
  return path
    .slice(1, -1)
    .replace(/\\([0-7]{3}|.)/g, (_, code: string) =>
      code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : (escapes[code] ?? code),
    );
}
