import type { ExportBody } from '../../lambda/api/contract/exports.ts';
import { formatBytes } from '../../lambda/rules/sizes.ts';
import {
  formatAge,
  formatCount,
  formatDollars,
  formatDuration,
  formatObjects,
  formatRequests,
  shellWords,
} from '../render.ts';
import { renderTable } from '../table.ts';
import { printable, type View } from '../terminal.ts';

/** A table of exports, the newest first. */
export function renderExports(exports: readonly ExportBody[], view: View): string {
  const { nowMs } = view;
  const rows = exports.map((job) => [
    job.exportId,
    job.repo ?? '(all)',
    job.dryRun ? 'dry run' : `${job.format}${job.named ? ', named' : ''}`,
    printable(askerOf(job)),
    job.state,
    formatShare(job),
    job.plan === null ? '-' : formatBytes(job.plan.archiveBytes),
    formatAge(job.createdAt, nowMs),
    job.state === 'done' ? formatLeft(job.expiresAt, nowMs) : '-',
  ]);
  const columns = [
    'export',
    { name: 'repo', least: 10 },
    'format',
    { name: 'by', least: 8 },
    'state',
    { name: 'done', right: true },
    { name: 'size', right: true },
    'began',
    'kept for',
  ];
  return renderTable(columns, rows, view);
}

/** A token's user or label, or what else the asker is. Older exports don't say. */
const askerOf = ({ by }: ExportBody) => by?.name ?? by?.kind ?? '-';

/** All that is known of an export. */
export function renderExport(job: ExportBody, view: View): string {
  const { nowMs } = view;
  const { plan, progress, failure } = job;
  const objects =
    job.listedObjects === null
      ? ''
      : `, ${formatObjects(job.listedObjects)} of a list${job.named ? ', with names of its own' : ''}`;
  const lines = [
    `export    ${job.exportId}: ${job.repo === null ? job.tenant : `${job.tenant}/${job.repo}`} as ${job.format}${objects}`,
    `state     ${job.state}${progress.share === null ? '' : `, ${formatShare(job)}`}`,
    `began     ${formatAge(job.createdAt, nowMs)}, by ${printable(askerOf(job))}`,
    ...(failure === null ? [] : [`failed    ${printable(failure.message)} (${failure.reason})`]),
    ...(plan === null ? [] : planLines(plan)),
  ];
  const made = progress.copiedBytes + progress.uploadedBytes + progress.hashedBytes;
  if (made > 0)
    lines.push(
      `done      ${formatBytes(progress.copiedBytes)} copied, ${formatBytes(progress.uploadedBytes)} uploaded, ` +
        formatRequests(progress.requests),
    );
  const text = `${lines.join('\n')}\n`;
  return job.state === 'done' ? `${text}\n${renderArchives(job, view)}` : text;
}

const wayTitles: Readonly<Record<NonNullable<ExportBody['plan']>['way'], string>> = {
  stream: 'read and upload everything',
  'copy-free': 'copy in parts of any size',
  'copy-grid': 'copy in parts of one size',
};

function planLines(plan: NonNullable<ExportBody['plan']>): string[] {
  const takes = `${formatRequests(plan.requests)}, ${formatDollars(plan.dollars)}, about ${formatDuration(plan.seconds * 1000)}`;
  const lines = [
    `objects   ${formatCount(plan.objectCount)} with ${formatBytes(plan.objectBytes)}`,
    `plan      ${wayTitles[plan.way]}: ${takes}`,
    `size      ${formatBytes(plan.archiveBytes)}: ${formatBytes(plan.copiedBytes)} copied by the store, ${formatBytes(plan.uploadedBytes)} uploaded`,
  ];
  if (plan.missing > 0) lines.push(`missing   ${formatObjects(plan.missing)}: the archive names them`);
  if (plan.conflicts > 0)
    lines.push(`left out  ${formatObjects(plan.conflicts)}: others have their oid and another size`);
  return lines;
}

/** The archives of an export that is done, and what to do with them. */
function renderArchives(job: ExportBody, view: View): string {
  const { tenant, exportId, archives, expiresAt } = job;
  const rows = archives.map(({ name, sizeBytes }) => [name, formatBytes(sizeBytes)]);
  const urls = archives.flatMap(({ name, url }) =>
    url === null ? [] : [`  curl -f -C - -o ${shellWords([name])} ${shellWords([url])}\n`],
  );
  const target = archives.length === 1 ? (archives[0]?.name ?? '') : '.';
  return [
    renderTable(
      [
        { name: 'archive', least: 12 },
        { name: 'size', right: true },
      ],
      rows,
      view,
    ),
    `Kept until ${expiresAt}, for ${formatLeft(expiresAt, view.nowMs)}. It does not count against the limit.\n`,
    `\nDownload it, now or later, and go on after a break:\n  lfs-quota export show ${tenant} ${exportId} --output ${shellWords([target])}\n`,
    ...(urls.length === 0 ? [] : [`Or, until ${archives[0]?.urlExpiresAt}, without a token:\n`, ...urls]),
    `\n${restoreText(job)}`,
  ].join('');
}

/** A name can be one of git's own files, which can hold a command. */
export const extractNamed = 'Extract it, but never into .git: the list gave its files their names.\n';

/** How to use the archives in the end. */
export function restoreText({ archives, format, named }: ExportBody): string {
  const extract = (options: string, path: string) =>
    archives
      .map(({ name }) =>
        format === 'tar'
          ? `  tar -x ${options}-f ${shellWords([`${path}${name}`])}\n`
          : `  unzip ${options.replace('-C', '-d')}${shellWords([`${path}${name}`])}\n`,
      )
      .join('');
  if (named) return `${extractNamed}${extract('', '')}`;
  return (
    'With it git-lfs needs no server:\n' +
    `  GIT_LFS_SKIP_SMUDGE=1 git clone REPOSITORY work && cd work\n${extract('-C .git ', '../')}` +
    '  git lfs checkout\n'
  );
}

function formatShare({ progress: { share } }: ExportBody): string {
  return share === null ? '-' : `${(share * 100).toFixed(1)} %`;
}

function formatLeft(isoDate: string, nowMs: number): string {
  return formatDuration(Math.max(0, Date.parse(isoDate) - nowMs));
}
