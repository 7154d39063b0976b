import { compareKeys, isOid, isRepoName, isTenantName, repoPrefix, tenantPrefix } from '../../rules/names.ts';
import { parseJson } from '../../rules/text.ts';

/**
 * How servers of Git LFS name an object in their bucket: its oid, or its oid in folders of its first four digits.
 * Slashes stand at fixed places, so the order of such names is the order of the oids, and a range of oids is a range
 * of names.
 *
 * Sources, read on 2026-11-23 (Gitea and giftless were also seen in a bucket):
 *
 * - `oid`: giftless (`giftless/storage/amazon_s3.py`: `_get_blob_path`), lfs-s3 (`s3adapter/s3adapter.go`:
 *   `asLfsPath`), git-lfs-s3 by troyready (`src/batch/batch.ts`: `Key: oid`) and by meltingice (`aws.rb`:
 *   `object_data`).
 * - `ab/cd/rest`: GitLab (`app/uploaders/lfs_object_uploader.rb`: `store_dir`, `filename`), Gitea
 *   (`modules/lfs/pointer.go`: `RelativePath`).
 * - `ab/cd/oid`: rudolfs without `--key` (`src/storage/s3.rs`: `key_to_path`; `src/sha256.rs`: `Sha256Path`).
 */
export const nameLayouts = ['oid', 'ab/cd/rest', 'ab/cd/oid'] as const;
export type NameLayout = (typeof nameLayouts)[number];

/** What every name of a layout looks like. `h` stands for a hex digit, any other character for itself. */
const shapes: Readonly<Record<NameLayout, string>> = {
  oid: 'h'.repeat(64),
  'ab/cd/rest': `hh/hh/${'h'.repeat(60)}`,
  'ab/cd/oid': `hh/hh/${'h'.repeat(64)}`,
};

/** After every character that a key of ASCII has. */
const afterAll = '~';

/** The name under which an object is stored. */
export function storedNameOf(layout: NameLayout, oid: string): string {
  if (layout === 'oid') return oid;
  return `${oid.slice(0, 2)}/${oid.slice(2, 4)}/${layout === 'ab/cd/rest' ? oid.slice(4) : oid}`;
}

/** The oid of the object with this name. undefined: no object of the layout has it. */
export function oidOfStoredName(layout: NameLayout, name: string): string | undefined {
  const oid = oidIn(layout, name);
  return isOid(oid) && storedNameOf(layout, oid) === name ? oid : undefined;
}

function oidIn(layout: NameLayout, name: string): string {
  if (layout === 'oid') return name;
  return layout === 'ab/cd/rest' ? name.slice(0, 2) + name.slice(3, 5) + name.slice(6) : name.slice(6);
}

/**
 * What the names of exactly those objects begin with whose oids begin with some text.
 *
 * @returns undefined if no oid begins so.
 */
export function storedBeginning(layout: NameLayout, beginning: string): string | undefined {
  if (!/^[0-9a-f]{0,64}$/.test(beginning)) return undefined;
  if (layout === 'oid') return beginning;
  const [first, second, rest] = [beginning.slice(0, 2), beginning.slice(2, 4), beginning.slice(4)];
  if (first.length < 2) return first;
  if (second.length < 2) return `${first}/${second}`;
  return `${first}/${second}/${layout === 'ab/cd/rest' ? rest : beginning}`;
}

/**
 * Where to go on in the bucket after a text: an oid comes after the text if, and only if, its name comes after what this
 * returns.
 */
export function storedAfter(layout: NameLayout, text: string): string {
  if (layout === 'oid') return text;
  // By code points: a slash between the two halves of one would make a text that has no UTF-8.
  const points = [...text];
  const part = (from: number, to?: number) => points.slice(from, to).join('');
  const first = part(0, 2);
  if (points.length <= 2) return first;
  if (points.length <= 4) return `${first}/${part(2)}`;
  return `${first}/${part(2, 4)}/${layout === 'ab/cd/rest' ? part(4) : text}`;
}

/**
 * How far a listing may skip from a name that is no object's: no object's name lies between the two. So it costs one
 * request, and not one for each thousand keys, to pass a folder of something else.
 */
export function endOfGap(layout: NameLayout, name: string): string {
  const shape = shapes[layout];
  const differsAt = [...shape].findIndex((place, at) => !fits(place, name.charAt(at)));
  const same = differsAt === -1 ? shape.length : differsAt;
  // Nothing is between the name and the names that go on as it does.
  if (same === name.length) return name;
  const end = name.slice(0, same) + gapBehind(shape.charAt(same), name.charAt(same));
  return compareKeys(end, name) > 0 ? end : name;
}

const fits = (place: string, character: string) =>
  place === 'h' ? /[0-9a-f]/.test(character) : character === place;

/** What to go on with where a name first differs from the shape. */
function gapBehind(place: string, character: string): string {
  if (place === 'h' && character < '0') return `/${afterAll}`;
  if (place === 'h' && character < 'a') return `\`${afterAll}`;
  if (place === '/' && character < '/') return `.${afterAll}`;
  return afterAll;
}

/**
 * A repo whose objects lie where another server of Git LFS has put them. The operator's setting, never a tenant's: whoever
 * sets a path reaches what lies below it.
 */
export interface AdoptedRepo {
  readonly tenant: string;
  readonly repo: string;
  /** What all keys of the repo begin with in the bucket: empty, or with its closing slash. */
  readonly path: string;
  /** How the keys go on. */
  readonly names: NameLayout;
}

/** Adopted repos of a stage, at most. */
export const adoptedReposMax = 20;

/** Folders of letters, digits and a few signs that mean nothing in a URL or a policy. None is `.` or `..`. */
const adoptedPathPattern = /^(?:(?!\.{1,2}\/)[A-Za-z0-9._@=+-]+\/)*$/;
/** The roles of functions name some of them, and have 10,240 characters. */
export const adoptedPathCharactersMax = 150;

/** The rule for a path, for error messages. */
export const adoptedPathRule =
  `must be empty, or folders of A-Z, a-z, 0-9 and ._@=+- that each end with a slash, such as lfs/; at most ` +
  `${adoptedPathCharactersMax} characters`;

/** Whether a name of a tenant would lead into the adopted path. */
export function isTakenBy({ path, names }: AdoptedRepo, tenant: string): boolean {
  if (path !== '') return path.startsWith(`${tenant}/`);
  return names !== 'oid' && /^[0-9a-f]{2}$/.test(tenant);
}

/**
 * Why these repos cannot be adopted together: bytes of one would be another's.
 *
 * @returns sentences, each with the index of the repo that it is about.
 */
export function conflictsOfAdopted(
  repos: readonly AdoptedRepo[],
): { readonly index: number; readonly message: string }[] {
  return repos.flatMap((repo, index) => {
    const before = repos.slice(0, index);
    const messages = [
      ...(before.some((other) => repoPrefix(other) === repoPrefix(repo)) ? [`is named twice`] : []),
      ...before
        .filter(({ path }) => path.startsWith(repo.path) || repo.path.startsWith(path))
        .map((other) => `has a path that overlaps with that of ${nameOf(other)}: ${shown(other.path)}`),
      ...(repo.path.startsWith('_')
        ? ['has a path that starts with _: lfs-quota keeps its own files there']
        : []),
      ...repos
        .filter((other) => isTakenBy(other, repo.tenant))
        .map((other) => `is for a tenant with keys in the path of ${nameOf(other)}: ${shown(other.path)}`),
    ];
    return messages.map((message) => ({ index, message: `${nameOf(repo)} ${message}` }));
  });
}

const nameOf = ({ tenant, repo }: AdoptedRepo) => `${tenant}/${repo}`;
const shown = (path: string) => (path === '' ? 'the whole bucket' : path);

/** Whether something read from JSON is one, with each part as it must be. */
export function isAdoptedRepo(value: unknown): value is AdoptedRepo {
  const { tenant, repo, path, names, ...others } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return (
    Object.keys(others).length === 0 &&
    typeof tenant === 'string' &&
    isTenantName(tenant) &&
    typeof repo === 'string' &&
    isRepoName(repo) &&
    typeof path === 'string' &&
    isAdoptedPath(path) &&
    nameLayouts.includes(names as NameLayout)
  );
}

export function isAdoptedPath(path: string): boolean {
  return path.length <= adoptedPathCharactersMax && adoptedPathPattern.test(path);
}

/** A key of somebody else would lie where the objects of an adopted repo lie. */
export class AdoptedPathError extends Error {
  override readonly name = 'AdoptedPathError';
}

/**
 * The adopted repos of a stage, and which key in the bucket, the stored key, each key of `{tenant}/{repo}/{oid}` stands
 * for. Of an adopted repo they differ; every other key is stored as it is.
 *
 * What lies in the bucket at an adopted repo's own path, `{tenant}/{repo}/`, is hidden. So is what lies in its adopted path
 * without a name of its layout.
 */
export class AdoptedRepos {
  /** In the order of their keys. */
  readonly all: readonly AdoptedRepo[];

  /** @param repos without conflicts. */
  constructor(repos: readonly AdoptedRepo[]) {
    this.all = [...repos].sort((a, b) => compareKeys(repoPrefix(a), repoPrefix(b)));
  }

  /** Whether the keys of a tenant of this name would lie in an adopted path. So there must be none. */
  isReserved(tenant: string): boolean {
    return this.all.some((repo) => isTakenBy(repo, tenant));
  }

  /** The adopted repos of a tenant. */
  of(tenant: string): readonly AdoptedRepo[] {
    return this.below(tenantPrefix(tenant));
  }

  /** The adopted repo to which all keys with this prefix belong. */
  at(prefix: string): AdoptedRepo | undefined {
    return this.all.find((repo) => prefix.startsWith(repoPrefix(repo)));
  }

  /** The adopted repos of which all keys begin with this prefix, in the order of their keys. */
  below(prefix: string): readonly AdoptedRepo[] {
    return this.all.filter((repo) => repoPrefix(repo).startsWith(prefix));
  }

  /**
   * Under which key something is stored.
   *
   * @returns undefined if nothing can be stored at the key, because an adopted repo has only objects.
   * @throws {AdoptedPathError}
   */
  storedKey(key: string): string | undefined {
    const repo = this.at(key);
    if (!repo) {
      this.requireOwn(key);
      return key;
    }
    const oid = key.slice(repoPrefix(repo).length);
    return isOid(oid) ? repo.path + storedNameOf(repo.names, oid) : undefined;
  }

  /** The key of what is stored under one. undefined: it is nobody's, or hidden. */
  keyOf(storedKey: string): string | undefined {
    for (const repo of this.all) {
      const key = keyIn(repo, storedKey);
      if (key !== undefined) return key;
    }
    return this.#isInAdoptedPath(storedKey) || this.at(storedKey) ? undefined : storedKey;
  }

  /**
   * Every key and prefix that is sent to the store as it is must pass here: that of a tenant, or of the service.
   *
   * @throws {AdoptedPathError} if it reaches into an adopted path.
   */
  requireOwn(keyOrPrefix: string): void {
    if (!keyOrPrefix.includes('/') || this.#isInAdoptedPath(keyOrPrefix))
      throw new AdoptedPathError(
        `Names that start with ${keyOrPrefix.slice(0, keyOrPrefix.indexOf('/') + 1) || 'no folder'} are reserved for an adopted repo (setting adoptedRepos).`,
      );
  }

  #isInAdoptedPath(key: string): boolean {
    const [folder = '', ...below] = key.split('/');
    return below.length > 0 && this.isReserved(folder);
  }
}

/** The key of an adopted repo's object, by the key under which it is stored. undefined: there is none of it. */
export function keyIn(repo: AdoptedRepo, storedKey: string): string | undefined {
  if (!storedKey.startsWith(repo.path)) return undefined;
  const oid = oidOfStoredName(repo.names, storedKey.slice(repo.path.length));
  return oid === undefined ? undefined : repoPrefix(repo) + oid;
}

/**
 * The adopted repos of a stage from JSON. Without it: none.
 *
 * @throws {Error} that says what is wrong with it. No function may run with others than the rest of the stage.
 */
export function adoptedReposFromJson(text: string | undefined): readonly AdoptedRepo[] {
  if (text === undefined) return [];
  const value = parseJson(text);
  if (!Array.isArray(value)) throw new Error("The adopted repos aren't a JSON list.");
  if (value.length > adoptedReposMax)
    throw new Error(`There are ${value.length} adopted repos, of at most ${adoptedReposMax}.`);
  const repos = value.map((each: unknown, index) => {
    if (isAdoptedRepo(each)) return each;
    throw new Error(
      `Entry ${index + 1} of the adopted repos isn't {tenant, repo, path, names} with valid names: path ` +
        `${adoptedPathRule}; names is one of ${nameLayouts.join(', ')}.`,
    );
  });
  const [conflict] = conflictsOfAdopted(repos);
  if (conflict) throw new Error(`Of the adopted repos, ${conflict.message}.`);
  return repos;
}

/** For {@link adoptedReposFromJson}. undefined: there are none. */
export function adoptedReposToJson(repos: readonly AdoptedRepo[]): string | undefined {
  return repos.length === 0 ? undefined : JSON.stringify(repos);
}
