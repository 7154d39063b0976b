import { expect, it } from 'vitest';
import { exportIdPattern, newExportId } from '../../../../../lambda/domain/export/export-id.ts';

it('ids sort by time, differ by chance, and are the same for the same input', () => {
  const times = [0, 1, 255, 256, 1_795_237_200_000, 1_795_237_200_001, 2 ** 47];
  const ids = times.map((nowMs) => newExportId({ nowMs, random: 'a' }));
  expect(ids.toReversed().sort()).toEqual(ids);
  for (const id of ids) expect(id).toMatch(exportIdPattern);
  expect(newExportId({ nowMs: 1, random: 'a' })).toBe(ids[1]);
  expect(newExportId({ nowMs: 1, random: 'b' })).not.toBe(ids[1]);
});
