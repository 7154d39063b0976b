import type { CleanupBody } from '../../lambda/api/contract/cleanups.ts';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import { formatAge, formatObjects, formatUntil } from '../render.ts';
import { renderTable } from '../table.ts';
import type { View } from '../view.ts';

type Sum = CleanupBody['deleted'];

type Recent = NonNullable<NonNullable<CleanupBody['found']>['reserved']>;

const timeOf = (isoDate: string) => `${isoDate.slice(11, 16)} UTC`;
const sumText = ({ objectCount, bytes }: Sum) => `${formatObjects(objectCount)}, ${formatBytes(bytes)}`;

/** A clean-up for a person: where it stands, what was found, and what to do next. */
export function renderCleanup(body: CleanupBody, view: View): string {
  const { nowMs } = view;
  return [stateLine(body, nowMs), ...foundLines(body, view), ...nextLines(body, nowMs)].join('');
}

function stateLine({ tenant, repo, state, openedAt, endedAt }: CleanupBody, nowMs: number): string {
  const since =
    endedAt === null ? `opened ${formatAge(openedAt, nowMs)}` : `ended ${formatAge(endedAt, nowMs)}`;
  return `${tenant}/${repo}: ${state}, ${since}\n`;
}

function foundLines({ found, run, state, deleted }: CleanupBody, view: View): string[] {
  if (!found) return [];
  const rows = [
    ['stored', sumText(found.stored)],
    ['needed by a commit', sumText(found.kept)],
    ['named by a push since', sumText(found.inUse)],
    ...(found.reserved ? [['uploaded recently', sumText(found.reserved)]] : []),
    [`younger than ${run?.minAgeDays ?? 0} days`, sumText(found.young)],
    [run?.dryRun ? 'would be deleted' : 'to be deleted', sumText(found.candidates)],
    ...(run?.dryRun === false && (state !== 'watching' || deleted.objectCount > 0)
      ? [['deleted', sumText(deleted)]]
      : []),
  ];
  const largest = found.largest.map(({ oid, sizeBytes }) => [oid, formatBytes(sizeBytes)]);
  return [
    renderTable(['found', ''], rows, view),
    ...(largest.length > 0
      ? ['\n', renderTable(['largest', { name: 'size', right: true }], largest, view)]
      : []),
  ];
}

function nextLines(
  { failure, deleted, state, mayRun, snapshotFrom, run, found, ...path }: CleanupBody,
  nowMs: number,
) {
  if (failure) return [`${failedText({ deleted })}: ${failure.message}\n`];
  const command = `lfs-quota gc run ${path.tenant} ${path.repo} --clone DIR`;
  switch (state) {
    case 'watching':
      if (!mayRun)
        return [`Pushes note what they name. Run it ${formatUntil(snapshotFrom, nowMs)}: ${command}\n`];
      if (!run || !found) return [`Run it: ${command}\n`];
      if (found.candidates.objectCount === 0)
        return [
          nothingText(found, { nowMs, command, cancel: `lfs-quota gc cancel ${path.tenant} ${path.repo}` }),
        ];
      return [
        `Nothing was deleted. To delete: ${command} --delete${found.isMoreThanHalf ? ' --force' : ''}\n`,
      ];
    case 'selecting':
    case 'deleting':
      return [`It goes on by itself: lfs-quota gc status ${path.tenant} ${path.repo}\n`];
    case 'done':
      return found?.reserved
        ? [keptText(found.reserved, `lfs-quota gc open ${path.tenant} ${path.repo}`)]
        : [];
    default:
      return [];
  }
}

/** A run that fails may have deleted some. */
export function failedText({ deleted }: Pick<CleanupBody, 'deleted'>): string {
  return deleted.objectCount === 0 ? 'Nothing was deleted' : 'It stopped before everything was deleted';
}

/** A run that deletes ends the watch, so objects that it had to leave need a new one. */
function keptText({ objectCount, until }: Recent, open: string): string {
  return `${formatObjects(objectCount)} can be uploaded again until ${timeOf(until)}. To delete the rest later: ${open}\n`;
}

/** What was just uploaded is a candidate once its upload URLs have expired. */
function nothingText(
  { reserved }: NonNullable<CleanupBody['found']>,
  { nowMs, command, cancel }: { nowMs: number; command: string; cancel: string },
): string {
  if (!reserved) return `Nothing to delete. To finish: ${cancel}\n`;
  return `Nothing to delete yet: ${formatObjects(reserved.objectCount)} can be uploaded again until ${timeOf(reserved.until)}. Run it again ${formatUntil(reserved.until, nowMs)}: ${command}\n`;
}

/** One line, while somebody waits. */
export function progressText({ state, found, deleted }: CleanupBody): string {
  if (state !== 'deleting' || !found) return 'the repo is listed';
  return `deleting: ${sumText(deleted)} of ${sumText(found.candidates)}`;
}
