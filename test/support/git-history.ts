import { createHash } from 'node:crypto';
import type { Random } from './random.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** Path → what the file has. */
type Tree = ReadonlyMap<string, string>;

interface Commit {
  readonly parents: readonly number[];
  seconds: number;
  readonly tree: Tree;
}

/** A ref points to a commit by its number, or to what is in a file. */
type Refs = ReadonlyMap<string, number | string>;

export interface ModelRule {
  readonly days: number;
  readonly versions: number;
  /** Only files below this folder follow the rule. */
  readonly only?: string;
}

const day = 86_400;
const attributes = '*.bin filter=lfs diff=lfs merge=lfs -text\n';
const paths = ['a.bin', 'b/one.bin', 'b/two words.bin', 'b/c/"deep".bin', 'd/ä.bin', 'd/six.bin'];
const versions = ['https://git-lfs.github.com/spec/v1', 'https://hawser.github.com/spec/v1'];

/**
 * A random history of a repository, in memory: branches, tags, renames, copies, reverts, merges, rebases, force-pushes, skewed
 * clocks, pointers of older versions and with CRLF. What a rule keeps is found from its trees, without git.
 */
export class GitHistory {
  readonly commits: Commit[] = [];
  /** oid → the object. */
  readonly objects = new Map<string, string>();
  readonly #random: Random;
  readonly #name: string;
  #seconds = 1_700_000_000;
  #refs = new Map<string, number | string>();

  constructor(random: Random, name: string) {
    this.#random = random;
    this.#name = name;
    this.#refs.set('refs/heads/main', this.#commit([], new Map([[paths[0] ?? '', this.#pointer()]])));
    for (let left = random.int(10, 40); left > 0; left -= 1) this.#step();
  }

  get refs(): Refs {
    return new Map(this.#refs);
  }

  get nowMs(): number {
    return (this.#seconds + day) * 1000;
  }

  /** Moves all of it to another time. */
  endAt(nowMs: number): void {
    const seconds = Math.floor((nowMs - this.nowMs) / 1000);
    this.#seconds += seconds;
    for (const commit of this.commits) commit.seconds += seconds;
  }

  /** Moves, makes and deletes refs, without a new commit. */
  forcePush(): void {
    for (let left = this.#random.int(1, 4); left > 0; left -= 1) this.#move();
  }

  /** What `git fast-import` reads. */
  fastImport(refs: Refs): string {
    const lines: string[] = [];
    const marks = new Map<string, number>();
    const markOf = (text: string) => {
      const mark = marks.get(text) ?? this.commits.length + marks.size + 1;
      if (!marks.has(text)) lines.push('blob', `mark :${mark}`, `data ${Buffer.byteLength(text)}`, text);
      marks.set(text, mark);
      return mark;
    };
    this.commits.forEach(({ parents, seconds, tree }, index) => {
      const files = [...tree].map(([path, text]) => `M 100644 :${markOf(text)} ${JSON.stringify(path)}`);
      const [from, ...merged] = parents.map((parent) => `:${parent + 1}`);
      lines.push('reset refs/tmp/all', '', 'commit refs/tmp/all', `mark :${index + 1}`);
      lines.push(`committer A <a@example.com> ${seconds} +0000`, 'data 1', 'm');
      if (from !== undefined) lines.push(`from ${from}`, ...merged.map((each) => `merge ${each}`));
      lines.push('deleteall', ...files, '');
    });
    lines.push('reset refs/tmp/all', '');
    for (const [name, to] of refs) {
      const mark = typeof to === 'number' ? to + 1 : markOf(to);
      const tagged = /^refs\/tags\/(annotated.*)/.exec(name)?.[1];
      if (tagged === undefined) lines.push(`reset ${name}`, `from :${mark}`, '');
      else lines.push(`tag ${tagged}`, `from :${mark}`, 'tagger A <a@example.com> 1 +0000', 'data 1', 't');
    }
    return `${lines.join('\n')}\n`;
  }

  /** @param refs of the remote. @param cloned those of the clone, of which only what is recent counts. */
  keptBy(rule: ModelRule, refs: Refs, cloned: Refs): Set<string> {
    const kept = new Set<string>();
    const keep = (text: string | undefined) => {
      const oid = oidOf(text);
      if (oid !== undefined) kept.add(oid);
    };
    const tips = [...refs].flatMap(([name, to]) => (/^refs\/(heads|tags)\//.test(name) ? [to] : []));
    const tipTrees = tips.flatMap((to) => (typeof to === 'number' ? [this.#at(to).tree] : []));
    for (const tree of tipTrees) for (const text of tree.values()) keep(text);
    for (const to of tips) if (typeof to === 'string') keep(to);
    const atTips = new Set(kept);
    const all = this.#before([...refs.values(), ...cloned.values()]);
    const since = this.nowMs - rule.days * day * 1000;
    for (const commit of all)
      if (this.#ageOf(commit) > since)
        for (const each of [commit, ...this.#at(commit).parents])
          for (const text of this.#at(each).tree.values()) keep(text);
    const inHistory = [...this.#before(tips)].sort((a, b) => this.#ageOf(b) - this.#ageOf(a));
    for (const path of new Set(tipTrees.flatMap((tree) => [...tree.keys()]))) {
      const older: string[] = [];
      for (const commit of inHistory) {
        const { tree, parents } = this.#at(commit);
        const text = tree.get(path);
        const oid = oidOf(text);
        const isNew = parents.every((parent) => this.#at(parent).tree.get(path) !== text);
        if (oid !== undefined && isNew && !atTips.has(oid) && !older.includes(oid)) older.push(oid);
      }
      for (const oid of older.slice(0, rule.versions)) kept.add(oid);
    }
    for (const commit of rule.only === undefined ? [] : all)
      for (const [path, text] of this.#at(commit).tree) if (!path.startsWith(rule.only ?? '')) keep(text);
    // What is in no commit isn't old: a tag may name it.
    for (const to of [...refs.values(), ...cloned.values()])
      if (
        typeof to === 'string' &&
        ![...all].some((commit) =>
          [...this.#at(commit).tree.values()].some((text) => oidOf(text) === oidOf(to)),
        )
      )
        keep(to);
    return kept;
  }

  #at(commit: number): Commit {
    const found = this.commits[commit];
    if (!found) throw new Error(`There is no commit ${commit}.`);
    return found;
  }

  /** No commit is older than its parents. Two of one moment differ by chance: the model has none. */
  #ageOf(commit: number): number {
    const { parents, seconds } = this.#at(commit);
    return Math.max(seconds * 1000, ...parents.map((parent) => this.#ageOf(parent) + 1));
  }

  #before(starts: Iterable<number | string>): Set<number> {
    const found = new Set<number>();
    const visit = (commit: number): void => {
      if (found.has(commit)) return;
      found.add(commit);
      this.#at(commit).parents.forEach(visit);
    };
    for (const start of starts) if (typeof start === 'number') visit(start);
    return found;
  }

  #pointer(): string {
    const random = this.#random;
    const known = [...this.objects.values()];
    const object =
      known.length > 0 && random.chance(0.15) ? random.pick(known) : `${this.#name} ${this.objects.size}`;
    this.objects.set(sha256(object), object);
    const version = random.chance(0.1) ? versions[1] : versions[0];
    const text = `version ${version}\noid sha256:${sha256(object)}\nsize ${Buffer.byteLength(object)}\n`;
    return random.chance(0.1) ? text.replaceAll('\n', '\r\n') : text;
  }

  #commit(parents: readonly number[], tree: Tree): number {
    const random = this.#random;
    this.#seconds += random.chance(0.2) ? 0 : random.int(0, 6 * day);
    const skew = random.chance(0.1) ? random.int(-40 * day, random.chance(0.1) ? 400 * day : 20 * day) : 0;
    const all = new Map([...tree, ['.gitattributes', attributes] as const]);
    // No two commits are of one moment, unless one follows the other.
    const isTaken = (seconds: number) =>
      this.commits.some((other, index) => other.seconds === seconds && !this.#before(parents).has(index));
    let seconds = this.#seconds + skew;
    while (isTaken(seconds)) seconds += 1;
    return this.commits.push({ parents, seconds, tree: all }) - 1;
  }

  #branch(): [string, number] {
    const heads = [...this.#refs].flatMap(([name, to]) =>
      name.startsWith('refs/heads/') && typeof to === 'number' ? [[name, to] as [string, number]] : [],
    );
    return this.#random.pick(heads);
  }

  #step(): void {
    const random = this.#random;
    const [name, head] = this.#branch();
    const { tree } = this.#at(head);
    const kind = random.int(0, 11);
    if (kind <= 6) this.#refs.set(name, this.#commit([head], this.#edited(tree)));
    else if (kind === 7) this.#refs.set(name, this.#commit([head], this.#at(random.int(0, head)).tree));
    else if (kind <= 9) this.#merge(name, head);
    else if (kind === 10) this.#rebase(name, head);
    else this.#move();
  }

  #edited(before: Tree): Tree {
    const random = this.#random;
    const tree = new Map(before);
    for (let left = random.int(1, 3); left > 0; left -= 1) {
      const [path, other] = [random.pick(paths), random.pick(paths)];
      const text = tree.get(path);
      const kind = random.int(0, 7);
      if (kind === 0) tree.delete(path);
      else if (kind === 1 && text !== undefined) tree.set(other, text).delete(path);
      else if (kind === 2 && text !== undefined) tree.set(other, text);
      else if (kind === 3 && text !== undefined) tree.set(path, text.replaceAll(/\r?\n/g, '\r\n'));
      else if (kind === 4) tree.set(path, 'no pointer\n');
      else tree.set(path, this.#pointer());
    }
    return tree;
  }

  #merge(name: string, head: number): void {
    const [, other] = this.#branch();
    if (this.#before([head]).has(other) || this.#before([other]).has(head)) return;
    const [ours, theirs] = [this.#at(head).tree, this.#at(other).tree];
    const tree = new Map(
      [...ours, ...theirs].map(([path]) => {
        const sides = [ours.get(path), theirs.get(path)].filter((text) => text !== undefined);
        return [path, this.#random.chance(0.15) ? this.#pointer() : this.#random.pick(sides)];
      }),
    );
    this.#refs.set(name, this.#commit([head, other], tree));
  }

  /** The last commit of a branch, on another one. */
  #rebase(name: string, head: number): void {
    const [, onto] = this.#branch();
    const { tree, parents } = this.#at(head);
    const before = parents[0] === undefined ? new Map<string, string>() : this.#at(parents[0]).tree;
    const changed = [...tree].filter(([path, text]) => before.get(path) !== text);
    this.#refs.set(name, this.#commit([onto], new Map([...this.#at(onto).tree, ...changed])));
  }

  #move(): void {
    const random = this.#random;
    const commit = random.int(0, this.commits.length - 1);
    const number = random.int(1, 4);
    const [branch] = this.#branch();
    const kind = random.int(0, 7);
    if (kind <= 1) this.#refs.set(`refs/heads/side-${number}`, commit);
    else if (kind === 2) this.#refs.set(branch, commit);
    else if (kind === 3 && branch !== 'refs/heads/main') this.#refs.delete(branch);
    else if (kind === 4) this.#refs.set(`refs/tags/light-${number}`, commit);
    else if (kind === 5) this.#refs.set(`refs/tags/annotated-${number}`, commit);
    else if (kind === 6) this.#refs.set(`refs/pull/${number}/head`, commit);
    else if (random.chance(0.3))
      this.#refs.set('refs/tags/annotated-file', this.#at(commit).tree.get(paths[0] ?? '') ?? commit);
  }
}

function oidOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : /^oid sha256:(\w{64})\r?$/m.exec(text)?.[1];
}
