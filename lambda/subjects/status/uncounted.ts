import { formatBytes } from '../../core/rules/sizes.ts';
import type { readUncounted } from '../../frame/gauges/uncounted.ts';
import { type Finding, fine, type StatusPart, unknown } from './rules/status.ts';

export function uncountedPart(found: Finding<Awaited<ReturnType<typeof readUncounted>>>): StatusPart {
  if (!found.ok)
    return unknown(
      'uncounted',
      "The store's own folders can't be listed",
      found.why,
      'Check the store: lfs-quota doctor.',
    );
  const sums = found.value.map(
    ({ folder, bytes, isCut }) => `${folder}/ ${isCut ? 'more than ' : ''}${formatBytes(bytes)}`,
  );
  return fine('uncounted', `Stored, but not counted as usage: ${sums.join(', ')}.`);
}
