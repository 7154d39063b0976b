/**
 * Where the files of a clean-up lie. No tenant's name begins with an underscore, so no listing of a tenant, and no event of
 * the store about a tenant, ever sees them.
 */

/** The first segment of every key. Lifecycle rules and grants name it. */
export const cleanupFolder = '_gc';

interface CleanupPath {
  readonly tenant: string;
  readonly watchId: string;
}

/** The prefix of all keys of a clean-up, with its closing slash. */
function cleanupPrefix({ tenant, watchId }: CleanupPath): string {
  return `${cleanupFolder}/${tenant}/${watchId}/`;
}

/** What is needed, as the clone says. Its name is its content, so it never changes. */
export function keepSetKey(path: CleanupPath, sha256: string): string {
  return `${cleanupPrefix(path)}keep-${sha256}`;
}

/** A file of candidates: `candidates.ts` says how. */
export function candidatesKey(path: CleanupPath, { folder, file }: { folder: string; file: number }): string {
  return `${cleanupPrefix(path)}${folder}/candidates-${file}.txt`;
}
