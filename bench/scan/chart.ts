import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Measured } from './measured.ts';

const file = fileURLToPath(new URL('../../docs/scan-wall.svg', import.meta.url));
const width = 760;
const height = 420;
const plot = { left: 70, right: 190, top: 50, bottom: 60 };

const lines: readonly { readonly subject: string; readonly label: string; readonly color: string }[] = [
  { subject: 'sdk', label: 'SDK, sequential', color: '#b3261e' },
  { subject: 'sdk-16', label: 'SDK, 16 prefixes', color: '#d97706' },
  { subject: 'fixed-16', label: '16 prefixes, paged', color: '#9a8c00' },
  { subject: 'probe', label: 'no hint: probe', color: '#2563eb' },
  { subject: 'sixteen', label: 'no hint: 16 at once', color: '#0891b2' },
  { subject: 'hint', label: 'hinted', color: '#15803d' },
];

/** Draws time against number of keys, both on logarithmic scales. @returns the path of the file. */
export function writeChart(measured: readonly Measured[]): string {
  const keys = measured.map((row) => row.keys).filter((count) => count > 0);
  const x = scale([Math.min(...keys), Math.max(...keys)], [plot.left, width - plot.right]);
  const walls = measured.map((row) => row.wallMs);
  const y = scale(
    [10 ** Math.floor(Math.log10(Math.min(...walls))), Math.max(...walls)],
    [height - plot.bottom, plot.top],
  );
  const marks: string[] = [];
  for (let wallMs = 100; wallMs <= Math.max(...walls); wallMs *= 10) {
    marks.push(
      `<line x1="${plot.left}" y1="${y(wallMs)}" x2="${width - plot.right}" y2="${y(wallMs)}" stroke="#ddd"/>`,
      `<text x="${plot.left - 8}" y="${y(wallMs) + 4}" text-anchor="end">${wallMs / 1000} s</text>`,
    );
  }
  for (const count of new Set(keys)) {
    if (count === 16_000) continue;
    marks.push(
      `<text x="${x(count)}" y="${height - plot.bottom + 20}" text-anchor="middle">${shortNumber(count)}</text>`,
    );
  }
  const legend = lastsApart(measured, y);
  const curves = lines.map(({ subject, color, label }) => {
    const rows = measured.filter((row) => row.subject === subject && row.keys > 0);
    const points = rows.map((row) => `${round(x(row.keys))},${round(y(row.wallMs))}`);
    const dots = points.map(
      (point) => `<circle cx="${point.replace(',', '" cy="')}" r="3" fill="${color}"/>`,
    );
    const text = `<text x="${width - plot.right + 10}" y="${round(legend.get(subject) ?? 0)}" fill="${color}">${label}</text>`;
    return `<polyline points="${points.join(' ')}" fill="none" stroke="${color}" stroke-width="2"/>${dots.join('')}${text}`;
  });
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="#333">
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="${plot.left}" y="24" font-size="15">Counting a path when a page takes 100 ms</text>
${marks.join('\n')}
${curves.join('\n')}
<text x="${(plot.left + width - plot.right) / 2}" y="${height - plot.bottom + 42}" text-anchor="middle">objects below the path (npm run bench -- scan)</text>
</svg>
`;
  writeFileSync(file, svg);
  return file;
}

/** Heights of the labels at the right ends of the curves, far enough apart to be readable. */
function lastsApart(measured: readonly Measured[], y: (value: number) => number): Map<string, number> {
  const ends = lines
    .map(({ subject }) => ({ subject, row: measured.findLast((row) => row.subject === subject) }))
    .map(({ subject, row }) => ({ subject, at: row ? y(row.wallMs) + 4 : 0 }))
    .sort((a, b) => a.at - b.at);
  let lowest = 0;
  return new Map(
    ends.map(({ subject, at }) => {
      lowest = Math.max(at, lowest + 16);
      return [subject, lowest];
    }),
  );
}

function scale([from, to]: [number, number], [low, high]: [number, number]): (value: number) => number {
  const span = Math.log(to / from) || 1;
  return (value) => low + ((high - low) * Math.log(value / from)) / span;
}

function shortNumber(value: number): string {
  if (value >= 1e6) return `${value / 1e6}M`;
  return value >= 1000 ? `${value / 1000}k` : String(value);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
