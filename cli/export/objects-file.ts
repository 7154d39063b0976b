import { readFileSync } from 'node:fs';
import { isOid } from '../../lambda/domain/names.ts';
import { UsageError } from '../errors.ts';

export interface NamedObject {
  readonly oid: string;
  readonly name?: string;
}

/**
 * Reads which objects to export: a line for each, `OID` or `OID NAME`, or as `git lfs ls-files --long` prints them,
 * `OID * NAME`. Empty lines mean nothing.
 *
 * @returns each oid once, with its first name, and how many lines named one again.
 * @throws {UsageError}
 */
export function readObjectsFile(file: string): { objects: NamedObject[]; repeats: number } {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(
      `The file ${file} cannot be read: ${error instanceof Error ? error.message : error}.`,
    );
  }
  const objects = new Map<string, NamedObject>();
  let repeats = 0;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue;
    const [, oid = '', name] = /^(\S+)(?: [*-])?(?: (.+))?$/.exec(line) ?? [];
    if (!isOid(oid))
      throw new UsageError(
        `Line ${index + 1} of ${file} does not begin with an oid, 64 lower-case hex digits. ` +
          '`git lfs ls-files --long` prints such lines.',
      );
    if (objects.has(oid)) repeats += 1;
    else objects.set(oid, { oid, ...(name !== undefined && { name }) });
  }
  if (objects.size === 0) throw new UsageError(`The file ${file} names no object.`);
  return { objects: [...objects.values()], repeats };
}
