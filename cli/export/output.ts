import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import type { ExportBody } from '../../lambda/http/management/exports/schemas.ts';
import { UsageError } from '../errors.ts';

/** Looks, before anything is asked for, whether a download can be put there. @throws {UsageError} */
export function checkOutput(output: string): void {
  const isFolder = existsSync(output) && statSync(output).isDirectory();
  if (isFolder) return;
  if (existsSync(output)) throw new UsageError(`${output} exists already. Name another file, or a folder.`);
  const folder = path.dirname(output);
  if (!existsSync(folder))
    throw new UsageError(`There is no folder ${folder}. Make it, or name another file.`);
}

/**
 * Where each archive goes. In a folder, one that lies there whole already is left out: a download that is repeated goes on
 * with the next.
 *
 * @param output a file, or a folder in which each archive has its own name. @throws {UsageError}
 */
export function filesFor(
  output: string,
  { archives }: Pick<ExportBody, 'archives'>,
): { readonly file: string; readonly index: number }[] {
  const isFolder = existsSync(output) && statSync(output).isDirectory();
  if (!isFolder && archives.length > 1)
    throw new UsageError(`There are ${archives.length} archives, so ${output} must be a folder that exists.`);
  return archives.flatMap(({ name, sizeBytes }, index) => {
    const file = isFolder ? path.join(output, path.basename(name)) : output;
    if (!existsSync(file)) return [{ file, index }];
    if (isFolder && statSync(file).size === sizeBytes) return [];
    throw new UsageError(`${file} exists already. Name another file or folder.`);
  });
}
