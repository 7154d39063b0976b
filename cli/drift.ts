import type { RepoBody } from '../lambda/api/contract/repos.ts';
import { formatBytes } from '../lambda/domain/bytes.ts';
import { formatAge, formatCount, formatObjects } from './render.ts';
import { renderTable } from './table.ts';
import type { View } from './view.ts';

/** What the store lists of a repo. */
export interface RepoSums {
  readonly objectCount: number;
  readonly storedBytes: number;
}

/** A repo as it was counted, and as the store lists it. */
export interface RepoDrift {
  readonly repo: string;
  /** null: never counted. */
  readonly counted: (RepoSums & { readonly countedAt: string }) | null;
  readonly stored: RepoSums;
}

/** Every repo that was counted or is stored, by name. */
export function driftOf(input: {
  counted: readonly RepoBody[];
  stored: ReadonlyMap<string, RepoSums>;
}): RepoDrift[] {
  const byName = new Map(input.counted.map((body) => [body.repo, body]));
  return [...new Set([...byName.keys(), ...input.stored.keys()])].sort().map((repo) => ({
    repo,
    counted: countedIn(byName.get(repo)),
    stored: input.stored.get(repo) ?? { objectCount: 0, storedBytes: 0 },
  }));
}

function countedIn(body: RepoBody | undefined): RepoDrift['counted'] {
  if (!body || body.storedBytes === null || body.objectCount === null || body.countedAt === null) return null;
  const { storedBytes, objectCount, countedAt } = body;
  return { storedBytes, objectCount, countedAt };
}

function differs({ counted, stored }: RepoDrift): boolean {
  return (
    (counted?.storedBytes ?? 0) !== stored.storedBytes || (counted?.objectCount ?? 0) !== stored.objectCount
  );
}

/** The repos whose count is not what the store lists, and a line for all. */
export function renderDrift(drift: readonly RepoDrift[], view: View): string {
  const wrong = drift.filter(differs);
  const total = drift.reduce((sum, { stored }) => sum + stored.storedBytes, 0);
  const objects = drift.reduce((sum, { stored }) => sum + stored.objectCount, 0);
  const all = `The store has ${formatObjects(objects)}, ${formatBytes(total)}.`;
  if (wrong.length === 0) return `${all} That is what was counted.\n`;
  const rows = wrong.map((row) => {
    const { repo, counted, stored } = row;
    return [
      repo === '' ? '(no repo)' : repo,
      counted ? formatBytes(counted.storedBytes) : '-',
      formatBytes(stored.storedBytes),
      signed(stored.storedBytes - (counted?.storedBytes ?? 0), formatBytes),
      signed(stored.objectCount - (counted?.objectCount ?? 0), formatCount),
      counted ? formatAge(counted.countedAt, view.nowMs) : 'never',
    ];
  });
  const columns = [
    { name: 'repo', least: 16, stays: true },
    { name: 'counted as', right: true },
    { name: 'stored', right: true },
    { name: 'drift', right: true, stays: true },
    { name: 'objects', right: true },
    'counted',
  ];
  return (
    renderTable(columns, rows, view) +
    `${all} Nothing was changed. What was pushed or deleted since a repo was counted is no mistake.\n`
  );
}

function signed(value: number, format: (value: number) => string): string {
  return value === 0 ? '0' : `${value > 0 ? '+' : '-'}${format(Math.abs(value))}`;
}
