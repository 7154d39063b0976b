import { isRepoName, isTenantName, repoPrefix } from './names.ts';
import { type NameLayout, nameLayouts } from './stored-names.ts';

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
        ? ['has a path that begins with _: there the service keeps files of its own']
        : []),
      ...repos
        .filter((other) => isTakenBy(other, repo.tenant))
        .map(
          (other) =>
            `is of a tenant whose own keys would lie in the path of ${nameOf(other)}: ${shown(other.path)}`,
        ),
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
