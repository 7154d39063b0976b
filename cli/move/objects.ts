import { isOid } from '../../lambda/core/rules/names.ts';
import type { ApiClient } from '../api-client.ts';
import { CliError } from '../errors.ts';
import { scanPointers } from '../git/git.ts';
import type { LfsObject, RepoPlace } from '../lfs-batch.ts';
import { objectPages } from '../list-pages.ts';

/** What any branch or tag of a clone needs. @throws {CliError} */
export async function objectsOfClone(clone: string): Promise<LfsObject[]> {
  const sizes = new Map<string, number>();
  await scanPointers(clone, {
    list: ['--all'],
    onPointer: (oid, { sizeBytes }) => {
      if (sizeBytes !== undefined) sizes.set(oid, sizes.get(oid) ?? sizeBytes);
    },
  });
  return [...sizes].map(([oid, sizeBytes]) => ({ oid, sizeBytes }));
}

/** What a repo of ours stores. @throws {CliError} */
export async function objectsOfRepo(client: ApiClient, { tenant, repo }: RepoPlace): Promise<LfsObject[]> {
  const objects: LfsObject[] = [];
  for await (const { body } of objectPages(client, { tenant, repo })) {
    if (body.files)
      throw new CliError(`${tenant}/${repo} is a repo of kind files, not of Git LFS.`, {
        hint: `Download its files: lfs-quota export start ${tenant} --repo ${repo} --output .`,
      });
    objects.push(...body.objects.filter(({ oid }) => isOid(oid)));
  }
  return objects;
}

export const bytesOf = (objects: readonly Pick<LfsObject, 'sizeBytes'>[]) =>
  objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
