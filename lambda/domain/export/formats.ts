import type { ArchiveFormat } from './archive-format.ts';
import { tarFormat } from './tar-format.ts';
import { zipFormat } from './zip-format.ts';

/** A format by its name. */
export function formatFor(name: 'tar' | 'zip', options: { modifiedAtMs: number }): ArchiveFormat {
  return name === 'tar' ? tarFormat(options) : zipFormat(options);
}
