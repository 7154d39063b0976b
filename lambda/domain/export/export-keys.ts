/**
 * Where an export's objects lie. No tenant's name begins with an underscore, so no listing of a tenant, and no event of
 * the store about a tenant, ever sees them.
 */

/** The first segment of every key. Lifecycle rules and grants name it. */
export const exportsFolder = '_exports';

interface ExportPath {
  readonly tenant: string;
  readonly exportId: string;
}

/** The prefix of all keys of an export, with its closing slash. */
export function exportPrefix({ tenant, exportId }: ExportPath): string {
  return `${exportsFolder}/${tenant}/${exportId}/`;
}

/** The prefix of what only the work on an export needs. */
export function workPrefix(path: ExportPath): string {
  return `${exportPrefix(path)}work/`;
}

/** The objects that were asked for by their oids. */
export function requestKey(path: ExportPath): string {
  return `${workPrefix(path)}request.json`;
}

/** The objects as they were listed in a round. */
export function listKey(path: ExportPath, round: number): string {
  return `${workPrefix(path)}${round}/list`;
}

/** The CRC-32 of the objects that a unit hashed. */
export function hashesKey(path: ExportPath, { round, unit }: { round: number; unit: number }): string {
  return `${workPrefix(path)}${round}/hashes/${unit}`;
}

/** Where older versions kept the CRC-32 of a tenant's objects: as the folder of an export with an id that none has. */
export function olderCrc32sPath(tenant: string): ExportPath {
  return { tenant, exportId: 'crc32' };
}

/** What a worker has to do. */
export function unitKey(
  path: ExportPath,
  { round, state, unit }: { round: number; state: 'hashing' | 'copying'; unit: number },
): string {
  return `${workPrefix(path)}${round}/${state}/${unit}.json`;
}

/** The bytes of an archive that only its planner could make. */
export function madeKey(path: ExportPath, { round, volume }: { round: number; volume: number }): string {
  return `${workPrefix(path)}${round}/made/${volume}`;
}

/** The prefix of a round's shards. */
export function shardsPrefix(path: ExportPath, round: number): string {
  return `${workPrefix(path)}${round}/shards/`;
}

/** A shard of an archive, until it is copied into it. */
export function shardKey(
  path: ExportPath,
  { round, volume, part }: { round: number; volume: number; part: number },
): string {
  return `${shardsPrefix(path, round)}${volume}-${part}`;
}

/** An upload that never ends: a copy into it tells the CRC-32 of an object. */
export function scratchKey(path: ExportPath, { round, unit }: { round: number; unit: number }): string {
  return `${workPrefix(path)}${round}/scratch/${unit}`;
}

/**
 * An archive. Its last segment is the name under which it is downloaded. It ends in `-files` if names were given: such an
 * archive must not be taken for one that is extracted into `.git`.
 */
export function archiveKey(
  path: ExportPath & { readonly repo: string | null; readonly isNamed: boolean },
  archive: { format: 'tar' | 'zip'; round: number; number: number; of: number },
): string {
  const { format, round, number, of } = archive;
  const name = path.repo === null ? path.tenant : `${path.tenant}-${path.repo}`;
  const files = path.isNamed ? '-files' : '';
  const volume = of === 1 ? '' : `-${number}-of-${of}`;
  return `${exportPrefix(path)}${round}/${name}${files}${volume}.${format}`;
}
