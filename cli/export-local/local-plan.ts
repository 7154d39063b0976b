import { formatFor } from '../../lambda/domain/export/formats.ts';
import type { Layout } from '../../lambda/domain/export/layout.ts';
import { planExport } from '../../lambda/domain/export/plan-export.ts';
import { type PlanSettings, quickestSettings } from '../../lambda/domain/export/plan-settings.ts';
import { s3Limits } from '../../lambda/domain/export/store-limits.ts';
import type { ExportState } from './state.ts';

/** A disk takes an archive of any size, so there is one alone. Its bytes are those of a worker that streams all. */
const settings: PlanSettings = {
  ...quickestSettings({
    ...s3Limits,
    partsMax: Number.MAX_SAFE_INTEGER,
    objectBytesMax: Number.MAX_SAFE_INTEGER,
  }),
  way: 'stream',
};

/** Where everything lies in the archive. It is a function of the state alone. */
export function layoutOf({ objects, wish, createdAtMs, missing }: ExportState): Layout {
  const { tenant, repo } = wish;
  const plan = planExport(
    {
      objects,
      format: formatFor('tar', { modifiedAtMs: createdAtMs }),
      subject: {
        path: repo === null ? tenant : `${tenant}/${repo}`,
        startedAtMs: createdAtMs,
        missing,
      },
    },
    settings,
  );
  const [volume, ...others] = plan.kind === 'planned' ? plan.volumes : [];
  if (!volume || others.length > 0) throw new Error('A local export has one archive.');
  return volume.layout;
}

/** Where the bytes of an object begin, by its index in the list: in this plan it has the order of the list. */
export function startByteOf(layout: Layout, index: number): number {
  return layout.boundsAt(2 + index).dataStart;
}
