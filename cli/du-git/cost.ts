import type { MonthAt, Team } from '../../cost/hosts.ts';
import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import { right, tableOf } from '../columns.ts';
import { CliError } from '../errors.ts';
import { scanPointers } from '../git/git.ts';
import { formatCount, formatDollars, formatObjects } from '../render.ts';
import type { View } from '../terminal.ts';

/** What a month costs, and what that assumes. */
export interface HistoryCost extends Team {
  readonly months: readonly MonthAt[];
}

/**
 * What a month of a clone's LFS objects costs, all versions of all refs, at hosts and with lfs-quota. It asks no server.
 *
 * @param options.downloadsGb undefined: three times what is stored.
 * @throws {CliError} if the history has none, or something is missing in the clone.
 */
export async function costOfHistory(
  clone: string,
  options: { downloadsGb: number | undefined; users: number; onProgress: (objectCount: number) => void },
): Promise<HistoryCost> {
  const sizes = new Map<string, number>();
  const { downloadsGb, users, onProgress } = options;
  await scanPointers(clone, {
    list: ['--all'],
    onPointer: (oid, { sizeBytes = 0 }) => sizes.set(oid, sizeBytes),
    onProgress,
  });
  const storedBytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  if (storedBytes === 0)
    throw new CliError('This clone has no commits with LFS files.', {
      hint: 'Fetch them, or pass another clone with --clone.',
    });
  // Imported only here: no other command needs the model.
  const { downloadsPerStored, monthEverywhere } = await import('../../cost/hosts.ts');
  const assumedGb = downloadsGb ?? (downloadsPerStored * storedBytes) / 1e9;
  const team = { storedBytes, objects: sizes.size, downloadsGb: assumedGb, users };
  return { ...team, months: monthEverywhere(team) };
}

/** For a person. */
export function formatCost(
  { months, ...team }: HistoryCost,
  view: View & {
    readonly given: { readonly downloadsGb?: number | undefined; readonly users?: number | undefined };
  },
): string {
  const how = (value: number | undefined, option: string) =>
    value === undefined ? `assumed, change it with ${option}` : 'given';
  const { given } = view;
  const downloads = formatCount(Number(team.downloadsGb.toPrecision(3)));
  return [
    `${formatBytes(team.storedBytes)} in ${formatObjects(team.objects)}, all versions. `,
    `${downloads} GB of downloads a month (${how(given.downloadsGb, '--downloads-gb')}), `,
    `${formatCount(team.users)} users (${how(given.users, '--users')}).\n\n`,
    monthTable(months, view),
    "\nYour machine isn't counted, and of free tiers only CloudFront's is subtracted.\n",
    'Prices change: check them before you quote them.\n',
  ].join('');
}

const monthTable = tableOf<MonthAt>([
  ['a month', ({ dollars }) => (dollars === null ? 'too large' : formatDollars(dollars)), right],
  ['at', ({ place }) => place, { stays: true }],
  ['plan', ({ plan }) => plan ?? ''],
  ['prices of', ({ prices }) => prices],
]);
