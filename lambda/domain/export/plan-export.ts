import type { ArchiveFormat } from './archive-format.ts';
import { entrySizesOf } from './entry-sizes.ts';
import type { ExportSubject } from './manifest.ts';
import { isMemberName } from './member-name.ts';
import { checkSettings, type PlanSettings, volumeBytesMaxOf } from './plan-settings.ts';
import { planVolume, type VolumePlan } from './plan-volume.ts';
import type { StoredObject } from './stored-object.ts';
import { splitVolumes } from './volumes.ts';

export interface ExportInput {
  /** Each oid once, in the order of the oids, as `distinctObjects` gives them. */
  readonly objects: readonly StoredObject[];
  readonly format: ArchiveFormat;
  readonly subject: ExportSubject;
}

export type ExportPlan =
  | { readonly kind: 'planned'; readonly volumes: readonly VolumePlan[] }
  /** This object alone is larger than an archive may be in this store. */
  | { readonly kind: 'object-too-large'; readonly object: StoredObject };

/**
 * Plans the archives of an export: one, or several volumes if all do not fit into one object of the store. The same
 * input gives the same plan, so what was done of it before a restart stays done.
 *
 * @throws {RangeError} for settings that the store refuses, oids that repeat or are out of order, and names that no
 * file in an archive may have.
 */
export function planExport(input: ExportInput, settings: PlanSettings): ExportPlan {
  checkSettings(settings);
  checkObjects(input.objects);
  const sizes = entrySizesOf(input.objects, input.format);
  const split = splitVolumes({ ...input, sizes, volumeBytesMax: volumeBytesMaxOf(settings) });
  if (split.kind !== 'split') return split;
  const { volumes } = split;
  return {
    kind: 'planned',
    volumes: volumes.map(({ objects, sizes }, index) => {
      const volume = { number: index + 1, of: volumes.length };
      return planVolume({ ...input, objects, sizes, volume }, settings);
    }),
  };
}

function checkObjects(objects: readonly StoredObject[]): void {
  const names = new Set<string>();
  let before = '';
  for (const { oid, name } of objects) {
    if (oid <= before) throw new RangeError(`The objects are not in the order of their oids at ${oid}.`);
    before = oid;
    if (name === undefined) continue;
    if (!isMemberName(name))
      throw new RangeError(`No file in an archive may have the name ${JSON.stringify(name)}.`);
    if (names.has(name)) throw new RangeError(`Two objects have the name ${JSON.stringify(name)}.`);
    names.add(name);
  }
}
