import { expect, it } from 'vitest';
import { type MetricName, metricUnits } from '../../../lambda/core/rules/metrics.ts';
import { ServerMetrics } from '../../../local/metrics.ts';

const metrics = new ServerMetrics();
const helps = async () => {
  const { body } = await metrics.text();
  return [...body.matchAll(/^# HELP (lfs_quota_\S+) (.*)$/gm)].map(([, name = '', help = '']) => ({
    name,
    help,
  }));
};

it('describes each metric in words, by the unit that its name has', async () => {
  const all = await helps();
  expect(all.length).toBeGreaterThan(Object.keys(metricUnits).length);
  for (const { name, help } of all) {
    // No name or unit of the code.
    expect(help, name).toMatch(/^[A-Z0-9][^A-Z]*( API[^A-Z]*)?$/);
    expect(help, name).not.toMatch(/milliseconds|, in count/i);
    if (name.endsWith('_seconds')) expect(help).toMatch(/seconds|[Dd]uration/);
  }
  expect(new Set(all.map(({ help }) => help)).size).toBe(all.length);
});

it.each(Object.entries(metricUnits).filter(([, unit]) => unit === 'Milliseconds'))(
  'has %s in seconds, and says so',
  async (name) => {
    metrics.measure(name as Extract<MetricName, 'ScanDuration'>, 1_500);
    const snake = { ScanDuration: 'scan_duration', ReconcileAge: 'reconcile_age' }[name];
    const { body } = await metrics.text();
    expect(body).toContain(`lfs_quota_${snake}_seconds_sum 1.5\n`);
    expect(body).toMatch(new RegExp(`^# HELP lfs_quota_${snake}_seconds .*, in seconds$`, 'm'));
  },
);
