import { formatBytes } from '../bytes.ts';
import type { Explained, WayExplained } from './explain.ts';
import type { Way } from './plan-settings.ts';

/** What people call the ways of making an export. */
export const wayTitles: Readonly<Record<Way, string>> = {
  stream: 'Read and upload everything',
  'copy-free': 'Copy in parts of any size',
  'copy-grid': 'Copy in parts of one size',
};

/** What the ways of making an export take, a line each. */
export function explainText(explained: readonly Explained[]): string {
  return explained.map((each) => `${wayTitles[each.way]}: ${words(each)}.\n`).join('');
}

function words(explained: Explained): string {
  switch (explained.kind) {
    case 'possible':
      return possibleWords(explained);
    case 'not-in-this-store':
      return 'not possible, this store wants parts of one size';
    case 'object-too-large':
      return `not possible, ${explained.object.oid} with ${formatBytes(explained.object.sizeBytes)} is larger than an archive may be`;
  }
}

function possibleWords(explained: WayExplained): string {
  const { archiveBytes, throughBytes, requests, volumes, shards, dollars, seconds } = explained;
  const percent = ((100 * throughBytes) / archiveBytes).toFixed(1);
  const pieces = [
    ...(volumes > 1 ? [`${volumes} archives`] : []),
    ...(shards > 0 ? [`${shards.toLocaleString('en-US')} shards`] : []),
  ];
  return [
    `${formatBytes(throughBytes)} of ${formatBytes(archiveBytes)} through the workers (${percent} %)`,
    ...pieces,
    `${requests.toLocaleString('en-US')} requests`,
    `$${dollars > 0 && dollars < 1 ? dollars.toPrecision(2) : dollars.toFixed(2)}`,
    `about ${Math.max(1, Math.round(seconds)).toLocaleString('en-US')} s`,
  ].join(', ');
}
