import { formatBytes } from '../../../lambda/core/rules/sizes.ts';
import type { CliContext } from '../../context.ts';
import { CliError } from '../../errors.ts';
import type { RepoPlace } from '../../lfs-batch.ts';
import { firstLines, formatCounted } from '../../render.ts';
import { continues } from '../../transfer.ts';

/** What can become of a file, and how a person reads it. `stored`: it was there before. `untried`: others had to be first. */
const labels = {
  uploaded: 'uploaded',
  stored: 'already there',
  downloaded: 'downloaded',
  exists: 'already here',
  missing: 'not found',
  deleted: 'deleted',
  'over-limit': 'over the limit',
  'no-space': 'no space',
  'name-taken': 'name taken',
  failed: 'failed',
  untried: 'not tried',
} as const;

export interface Outcome {
  readonly name: string;
  readonly bytes?: number | undefined;
  readonly state: keyof typeof labels;
  /** Why it isn't where it's to be, for a person. */
  readonly why?: string;
}

const namedMax = 10;

export const sumText = (sum: { readonly fileCount: number; readonly bytes: number }) =>
  `${formatCounted(sum.fileCount, 'file')}, ${formatBytes(sum.bytes)}`;

/** Prints what became of files. @throws {CliError} if that isn't what was asked for. */
export function report(
  context: CliContext,
  outcomes: readonly Outcome[],
  { place, isJson }: { place: RepoPlace; isJson: boolean },
): void {
  const states = new Set(outcomes.map(({ state }) => state));
  const lines = Object.entries(labels).flatMap(([each, label]) => {
    const files = outcomes.filter(({ state }) => state === each);
    const bytes = files.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
    return files.length > 0 ? [`${label.padEnd(15)}${sumText({ fileCount: files.length, bytes })}\n`] : [];
  });
  context.out(isJson ? `${JSON.stringify({ ...place, files: outcomes })}\n` : lines.join(''));
  const left = outcomes.flatMap(({ why }) => why ?? []);
  if (left.length === 0) return;
  const named = firstLines([...new Set(left)], namedMax, ': --json lists all');
  const isRefused = states.has('over-limit') || states.has('no-space') || states.has('name-taken');
  const isMissing = states.has('missing') || states.has('deleted');
  throw new CliError([`${formatCounted(left.length, 'file')} failed.`, ...named].join('\n'), {
    failure: isRefused ? 'refused' : isMissing ? 'not-found' : 'failed',
    hint: isMissing
      ? `List them: lfs-quota files list --tenant ${place.tenant} --repo ${place.repo}`
      : states.has('name-taken')
        ? 'A stored file never changes: pass another name or prefix.'
        : continues,
  });
}
