import type { MonthAt, Team } from '../../cost/hosts.ts';
import { formatBytes } from '../../lambda/rules/sizes.ts';
import { right, tableOf } from '../columns.ts';
import { CliError } from '../errors.ts';
import { scanPointers } from '../git/git.ts';
import { formatCount, formatDollars, formatObjects } from '../render.ts';
import type { View } from '../terminal.ts';

interface HistoryCostInput {
  /** undefined: {@link downloadsPerStored} times what is stored. */
  readonly downloadsGb: number | undefined;
  readonly users: number;
  readonly onProgress: (objectCount: number) => void;
}

/**
 * What a month of a clone's LFS objects costs, all versions of all refs, at hosts and with lfs-quota. It asks no server.
 *
 * @throws {CliError} if the history has none, or something is missing in the clone.
 */
export async function costOfHistory(clone: string, { downloadsGb, users, onProgress }: HistoryCostInput) {
  const sizes = new Map<string, number>();
  const onPointer = (oid: string, { sizeBytes = 0 }: { sizeBytes: number | undefined }) =>
    sizes.set(oid, sizeBytes);
  await scanPointers(clone, { list: ['--all'], onPointer, onProgress });
  const storedBytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  if (storedBytes === 0)
    throw new CliError('This clone has no commits with LFS files.', {
      hint: 'Fetch them, or pass another clone with --clone.',
    });
  // Imported only here: no other command needs the model.
  const { downloadsPerStored, monthEverywhere } = await import('../../cost/hosts.ts');
  const team: Team = {
    storedBytes,
    objects: sizes.size,
    downloadsGb: downloadsGb ?? (downloadsPerStored * storedBytes) / 1e9,
    users,
  };
  return { team, months: monthEverywhere(team) };
}

/** For a person. */
export function formatCost({ team, months }: Awaited<ReturnType<typeof costOfHistory>>, view: View): string {
  const { storedBytes, objects, downloadsGb, users } = team;
  const downloads = formatCount(Number(downloadsGb.toPrecision(3)));
  return [
    `${formatBytes(storedBytes)} in ${formatObjects(objects)}, all versions. `,
    `Assumed: ${downloads} GB of downloads a month (--downloads-gb), ${formatCount(users)} users (--users).\n\n`,
    monthTable(months, view),
    "\nYour machine isn't counted, and free tiers of AWS and Cloudflare aren't subtracted.\n",
    'Prices change: check them before you quote them.\n',
  ].join('');
}

const monthTable = tableOf<MonthAt>([
  ['a month', ({ dollars }) => (dollars === undefined ? 'too large' : formatDollars(dollars)), right],
  ['at', ({ place }) => place, { stays: true }],
  ['plan', ({ plan = '' }) => plan],
  ['prices of', ({ pricesAsOf, isUnconfirmed }) => pricesAsOf + (isUnconfirmed ? ', unconfirmed' : '')],
]);

/** For a program. */
export function jsonOfCost({ team, months }: Awaited<ReturnType<typeof costOfHistory>>): unknown {
  return {
    ...team,
    months: months.map(({ plan = null, dollars = null, ...month }) => ({ ...month, plan, dollars })),
  };
}
