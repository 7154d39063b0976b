/**
 * The fewest bytes that a plan on a grid can upload. M objects of at least a cell have c whole cells each; c − 1 of
 * them are always inside, and one more for each edge that a remainder crosses. Remainders and everything else together
 * cross only so many edges.
 *
 * @param input.sizes of all objects.
 * @param input.archiveBytes the whole archive.
 */
export function gridBound(input: { sizes: Float64Array; archiveBytes: number; cellBytes: number }): number {
  const { sizes, archiveBytes, cellBytes } = input;
  let large = 0;
  let cells = 0;
  for (const sizeBytes of sizes) {
    if (sizeBytes < cellBytes) continue;
    large += 1;
    cells += Math.floor(sizeBytes / cellBytes) - 1;
  }
  // All but the whole cells: remainders, small objects, heads, directory. The cells that are not sure count again.
  const otherBytes = archiveBytes - (cells + large) * cellBytes;
  const carried = Math.min(large, Math.floor(otherBytes / cellBytes));
  return archiveBytes - (cells + carried) * cellBytes;
}
