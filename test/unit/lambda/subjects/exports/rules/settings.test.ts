import { expect, it } from 'vitest';
import { cloudPrices, r2Prices, s3Prices } from '../../../../../../cost/operations.ts';
import { storeKinds } from '../../../../../../lambda/core/store/rules/store-kind.ts';
import { functionSpecs } from '../../../../../../lambda/routes.ts';
import {
  checkSettings,
  exportSettingsFor,
  planSettingsFor,
} from '../../../../../../lambda/subjects/exports/rules/settings.ts';
import { parseDeploymentSettings } from '../../../../../../lib/settings/stages.ts';

const settings = (kind: (typeof storeKinds)[number]) => exportSettingsFor(kind, { workers: 4 });

it('has the prices of the cost model', () => {
  const { exportArchive: memoryMb } = parseDeploymentSettings('test', {}).memoryMb;
  const workerSecond = (memoryMb / 1024) * cloudPrices.lambdaGbSecondArm64;
  expect(settings('s3').prices).toMatchObject({
    write: expect.closeTo(s3Prices.putOrList, 12),
    read: expect.closeTo(s3Prices.getOrHead, 12),
    gbToStore: 0,
  });
  expect(settings('r2').prices).toMatchObject({
    write: expect.closeTo(r2Prices.putOrList, 12),
    read: expect.closeTo(r2Prices.getOrHead, 12),
    gbToStore: s3Prices.gbToInternet.perGb[0],
  });
  expect(settings('s3').prices.workerSecond).toBeCloseTo(workerSecond, 9);
  expect(functionSpecs.exportArchive.timeoutSeconds).toBeGreaterThan(0);
});

it.each(storeKinds)('%s: settings that its store takes', (kind) => {
  expect(() => checkSettings(planSettingsFor(settings(kind)))).not.toThrow();
});

it('plans as the store wants it', () => {
  const ways = storeKinds.map((kind) => [kind, planSettingsFor(settings(kind)).way]);
  expect(Object.fromEntries(ways)).toEqual({
    s3: 'copy-free',
    r2: 'copy-grid',
    grid: 'copy-grid',
    stream: 'stream',
    local: 'copy-free',
  });
});
