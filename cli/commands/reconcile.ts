import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import type { ApiClient } from '../api-client.ts';
import { right, tableOf } from '../columns.ts';
import { actionCommand, flag, type RepoBody, tenantOperand } from '../command.ts';
import type { CliContext } from '../context.ts';
import { allItems, objectPages } from '../list-pages.ts';
import { formatAge, formatCount, formatObjects } from '../render.ts';
import { type View, viewOf } from '../terminal.ts';

/** `scan now TENANT`: asks for a reconcile of everything that the tenant stores, or shows what it would find. */
export const reconcileCommand = actionCommand({
  name: 'now',
  description: "Rescan a tenant's storage",
  operands: { tenant: tenantOperand },
  options: {
    dryRun: flag('--dry-run', 'list the bucket and compare; change nothing'),
  },
  run: async (client, { operands: params, options, context }) => {
    const { tenant } = params;
    if (options.dryRun) return showDrift(client, { context, tenant, isJson: options.json === true });
    const { text } = await client.ask('requestReconcile', { params });
    const queued = `The scan is queued. See the result: ${context.program} usage ${tenant}`;
    context.out(`${options.json ? text : queued}\n`);
  },
});

/** Both are read by routes that change nothing. What is counted is read first, so that a count meanwhile looks like drift. */
async function showDrift(
  client: ApiClient,
  { context, tenant, isJson }: { context: CliContext; tenant: string; isJson: boolean },
): Promise<void> {
  const params = { tenant };
  const counted = await allItems(client, { route: 'listRepos', params, items: 'repos' });
  const stored = new Map<string, RepoSums>();
  const add = (repo: string, objectCount: number, sizeBytes: number) => {
    const sums = stored.get(repo) ?? { objectCount: 0, storedBytes: 0 };
    stored.set(repo, {
      objectCount: sums.objectCount + objectCount,
      storedBytes: sums.storedBytes + sizeBytes,
    });
  };
  for await (const { body } of objectPages(client, { tenant, repo: undefined })) {
    for (const { repo, sizeBytes } of [...body.objects, ...(body.files ?? [])]) add(repo, 1, sizeBytes);
    for (const { repo, objectCount, sizeBytes } of body.others) add(repo, objectCount, sizeBytes);
  }
  const drift = driftOf({ counted, stored });
  context.out(isJson ? `${JSON.stringify({ tenant, repos: drift })}\n` : renderDrift(drift, viewOf(context)));
}

/** What the store lists of a repo. */
interface RepoSums {
  readonly objectCount: number;
  readonly storedBytes: number;
}

/** A repo as it was counted, and as the store lists it. */
interface RepoDrift {
  readonly repo: string;
  /** null: never counted. */
  readonly counted: (RepoSums & { readonly scannedAt: string }) | null;
  readonly stored: RepoSums;
}

/** Every repo that was counted or is stored, by name. */
function driftOf(input: {
  counted: readonly RepoBody[];
  stored: ReadonlyMap<string, RepoSums>;
}): RepoDrift[] {
  const byName = new Map(input.counted.map((body) => [body.repo, body]));
  return [...new Set([...byName.keys(), ...input.stored.keys()])].sort().map((repo) => ({
    repo,
    counted: scannedIn(byName.get(repo)),
    stored: input.stored.get(repo) ?? { objectCount: 0, storedBytes: 0 },
  }));
}

function scannedIn(body: RepoBody | undefined): RepoDrift['counted'] {
  if (!body || body.storedBytes === null || body.objectCount === null || body.scannedAt === null) return null;
  const { storedBytes, objectCount, scannedAt } = body;
  return { storedBytes, objectCount, scannedAt };
}

function differs({ counted, stored }: RepoDrift): boolean {
  return (
    (counted?.storedBytes ?? 0) !== stored.storedBytes || (counted?.objectCount ?? 0) !== stored.objectCount
  );
}

const driftTable = tableOf<RepoDrift>([
  ['repo', ({ repo }) => (repo === '' ? '(no repo)' : repo), { least: 16, stays: true }],
  ['last scan', ({ counted }) => (counted ? formatBytes(counted.storedBytes) : '-'), right],
  ['stored', ({ stored }) => formatBytes(stored.storedBytes), right],
  [
    'drift',
    ({ stored, counted }) => signed(stored.storedBytes - (counted?.storedBytes ?? 0), formatBytes),
    { right: true, stays: true },
  ],
  [
    'objects',
    ({ stored, counted }) => signed(stored.objectCount - (counted?.objectCount ?? 0), formatCount),
    right,
  ],
  ['scanned', ({ counted }, { nowMs }) => (counted ? formatAge(counted.scannedAt, nowMs) : 'never')],
]);

/** The repos whose count is not what the store lists, and a line for all. */
function renderDrift(drift: readonly RepoDrift[], view: View): string {
  const wrong = drift.filter(differs);
  const total = drift.reduce((sum, { stored }) => sum + stored.storedBytes, 0);
  const objects = drift.reduce((sum, { stored }) => sum + stored.objectCount, 0);
  const all = `The store has ${formatObjects(objects)}, ${formatBytes(total)}.`;
  if (wrong.length === 0) return `${all} It matches the last scan.\n`;
  return (
    driftTable(wrong, view) +
    `${all} Nothing changed. Pushes and deletes since a repo's last scan explain some differences.\n`
  );
}

function signed(value: number, format: (value: number) => string): string {
  return value === 0 ? '0' : `${value > 0 ? '+' : '-'}${format(Math.abs(value))}`;
}
