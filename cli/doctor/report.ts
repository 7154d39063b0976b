import { printable } from '../printable.ts';
import type { CheckResult, Outcome } from './check.ts';
import type { ProbeTarget } from './probe.ts';
import { type StoreFacts, type StoreProfile, storeProfileSchema } from './profile.ts';

const labels: Readonly<Record<Outcome, string>> = {
  pass: 'pass',
  warning: 'WARNING',
  fail: 'FAIL',
  skipped: 'skipped',
};

const labelWidth = Math.max(...Object.values(labels).map((label) => label.length));
const idWidth = 20;

/** One line about a check, and one with what to do. */
export function formatResult({ id, outcome, detail, advice }: CheckResult): string {
  const head = `${labels[outcome].padEnd(labelWidth)}  ${id.padEnd(idWidth)}`;
  const lines = [`${head}${printable(detail)}`];
  if (advice !== undefined) lines.push(`${' '.repeat(labelWidth + 2 + idWidth)}→ ${printable(advice)}`);
  return `${lines.join('\n')}\n`;
}

export const idsWith = (results: readonly CheckResult[], wanted: Outcome): string[] =>
  results.filter(({ outcome }) => outcome === wanted).map(({ id }) => id);

/** `41 checks: 38 pass, 1 warning (multipart), 2 skipped.` */
export function formatSummary(results: readonly CheckResult[]): string {
  const parts = (['pass', 'fail', 'warning', 'skipped'] as const).flatMap((outcome) => {
    const ids = idsWith(results, outcome);
    const names = outcome === 'fail' || outcome === 'warning' ? ` (${ids.join(', ')})` : '';
    return ids.length === 0 ? [] : [`${ids.length} ${outcome}${names}`];
  });
  return `${results.length} checks: ${parts.join(', ')}.`;
}

/** What `--profile` writes. */
export function profileOf(
  { endpoint, region, bucket }: ProbeTarget,
  examined: { results: readonly CheckResult[]; holds: StoreFacts; probedAtMs: number },
): StoreProfile {
  const failed = idsWith(examined.results, 'fail');
  return storeProfileSchema.parse({
    formatVersion: 1,
    probedAt: new Date(examined.probedAtMs).toISOString(),
    endpoint: endpoint ?? null,
    region,
    bucket,
    usable: failed.length === 0,
    failed,
    warnings: idsWith(examined.results, 'warning'),
    holds: examined.holds,
  });
}
