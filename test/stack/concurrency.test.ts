import { describe, expect, it } from 'vitest';
import { backgroundFunctionsOf } from '../../lib/settings/concurrency.ts';
import type { DeploymentSettingsInput } from '../../lib/settings/deployment-settings.ts';
import { parseDeploymentSettings } from '../../lib/settings/stages.ts';
import { expectRefused, templateOf } from './stack-template.ts';
import { fixtures } from './stage-fixtures.ts';
import { trusting } from './trusting.ts';

const newAccount = { accountConcurrency: 10 };

/** Functions that a template lets run at once without a request. */
function inTemplate(settings: DeploymentSettingsInput): number {
  const template = templateOf(settings);
  const sources = Object.values(template.findResources('AWS::Lambda::EventSourceMapping'));
  const schedules = Object.keys(template.findResources('AWS::Scheduler::Schedule'));
  return sources.reduce(
    (sum, { Properties }) => sum + Properties.ScalingConfig.MaximumConcurrency,
    schedules.length,
  );
}

describe.each([
  ...fixtures.map(({ name, settings }) => [name, settings] as const),
  ['a stage in a new account', newAccount] as const,
])('%s', (_, settings) => {
  const parsed = parseDeploymentSettings('test', settings);

  it('runs as many functions in the background as are counted', () => {
    expect(inTemplate(settings)).toBe(backgroundFunctionsOf(parsed));
  });

  it('leaves a tenth of the functions of the account, and one at least, to the API', () => {
    const { accountConcurrency } = parsed;
    expect(accountConcurrency - inTemplate(settings)).toBeGreaterThanOrEqual(
      Math.max(1, accountConcurrency / 10),
    );
  });
});

describe('settings that would let work in the background take all functions', () => {
  it.each<[DeploymentSettingsInput, RegExp]>([
    [
      { ...newAccount, ...trusting },
      /accountConcurrency: leaves too few functions to the API: .*\(reconciles 2, webhooks 2, chunks 2, copies 2, exports 2\) can take 11, and must take 9 or less.*ask AWS for a higher one.*exports\.workers 0/,
    ],
    [{ ...newAccount, reconcile: { concurrency: 3 } }, /can take 10, and must take 9/],
    [{ exports: { workers: 900 } }, /can take 912, and must take 900/],
    [{ reservedConcurrency: { lfsBatch: 850 } }, /can take 52, and must take 50/],
  ])('are refused: %j', (settings, message) => {
    expectRefused(settings, message);
  });

  it.each<DeploymentSettingsInput>([
    { ...newAccount, ...trusting, exports: { workers: 0 } },
    { accountConcurrency: 20, ...trusting, email: { from: 'quota@example.com' }, storeEvents: true },
    { accountConcurrency: 10_000, exports: { workers: 900 } },
  ])('are accepted once they leave enough: %j', (settings) => {
    expect(() => parseDeploymentSettings('test', settings)).not.toThrow();
  });
});
