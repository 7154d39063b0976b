import type { Deps } from '../../deps.ts';

/** Aborts all uploads whose keys begin with a prefix. */
export async function abortUploads({ archives }: Pick<Deps, 'archives'>, prefix: string): Promise<void> {
  for await (const page of archives.uploads(prefix)) for (const upload of page) await archives.abort(upload);
}

/** Deletes all objects below a prefix. */
export async function deleteBelow({ archives }: Pick<Deps, 'archives'>, prefix: string): Promise<void> {
  for await (const keys of archives.list(prefix)) await archives.delete(keys);
}
