import { expect, it } from 'vitest';
import { Stage } from '../../../../bench/refresh/stage.ts';
import { defaultSettings } from '../../../../lambda/domain/settings.ts';

const day = 24 * 60;

async function daysOf(count: number, input: { refreshTenantsMax: number; tenants: number }): Promise<Stage> {
  const { refreshTenantsMax, tenants } = input;
  const settings = { ...defaultSettings, refreshTenantsMax };
  const stage = new Stage({ tenants, concurrency: 5, settings, beganMs: 1_800_000_000_000 });
  for (let minute = 0; minute < count * day; minute += 1) await stage.minute();
  return stage;
}

it('a schedule that can visit everybody in time leaves nobody waiting', async () => {
  const stage = await daysOf(2, { refreshTenantsMax: 20, tenants: 5000 });
  // In use: twice a day and once in full; busy: hourly.
  expect(stage.tally.queued).toBeGreaterThan(2 * (1000 * 2.5 + 50 * 20));
  expect(stage.waits.handed.seconds(0.5)).toBeLessThanOrEqual(60);
  expect(stage.waits.handed.seconds(1)).toBeLessThan(15 * 60);
  expect(stage.overdue().longestMs).toBeLessThan(15 * 60_000);
});

it('one that can’t keeps all waiting alike', async () => {
  const stage = await daysOf(2, { refreshTenantsMax: 1, tenants: 5000 });
  const [half, longest] = [stage.waits.handed.seconds(0.5), stage.waits.handed.seconds(1)];
  expect(half).toBeGreaterThan(3600);
  expect(longest).toBeLessThan(3 * half);
});
