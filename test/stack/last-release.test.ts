import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Template } from 'aws-cdk-lib/assertions';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DeploymentSettingsInput } from '../../lib/settings/deployment-settings.ts';
import { deploymentSettingsSchema } from '../../lib/settings/stages.ts';
import { checkOutLastRelease, lastRelease } from '../support/last-release.ts';
import { grantsOf } from './grants-of.ts';
import { templateOf } from './stack-template.ts';

/**
 * Grants that this version no longer has, and why the last release's code doesn't miss them. CloudFormation changes roles
 * first. Then the old code runs under them: until its functions are updated, for the five minutes of a canary, and again
 * once an alias is moved back.
 */
const takenAway: readonly { readonly roles: string[]; readonly grant: RegExp; readonly why: string }[] = [
  {
    roles: ['BackgroundSchedulerRole'],
    grant: /^lambda:InvokeFunction on FunctionsrefreshFunction$/,
    why: 'It invokes the alias instead. Schedule and role change within seconds, and a run that fails comes again.',
  },
  {
    roles: ['lfsBatch', 'lfsLocks', 'getSubscription', 'refresh', 'exportArchive', 'storeEvents'],
    grant: /^dynamodb:\w+ on (DataTable|arn:aws-cn:dynamodb:.*)$/,
    why: 'They have these on the partitions that they work on: of the release, each write of its stores was read.',
  },
];

describe(`an upgrade from ${lastRelease().version}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-release-'));
  /** Of each kind of deployment that the release has: what it granted, and this version doesn't. */
  let missing: { role: string; grant: string }[] = [];
  let compared = 0;

  beforeAll(async () => {
    const checkout = join(folder, 'release');
    await checkOutLastRelease(checkout);
    const fileOf = (name: string) => join(checkout, 'test', 'stack', name);
    const release: { templateOf: (settings: DeploymentSettingsInput) => Template } = await import(
      fileOf('stack-template.ts')
    );
    const { fixtures }: { fixtures: readonly { settings: DeploymentSettingsInput }[] } = await import(
      fileOf('stage-fixtures.ts')
    );
    // Settings that this version refuses can't be deployed.
    const deployable = fixtures.filter(
      ({ settings }) => deploymentSettingsSchema.safeParse(settings).success,
    );
    missing = deployable.flatMap(({ settings }) => {
      const after = grantsOf(templateOf(settings));
      return [...grantsOf(release.templateOf(settings))].flatMap(([role, grants]) => {
        compared += grants.length;
        return grants.filter((grant) => !after.get(role)?.includes(grant)).map((grant) => ({ role, grant }));
      });
    });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('takes no grant away that code of the release needs', () => {
    const isExplained = ({ role, grant }: { role: string; grant: string }) =>
      takenAway.some((each) => each.roles.includes(role) && each.grant.test(grant));
    expect(compared).toBeGreaterThan(500);
    expect(missing.filter((found) => !isExplained(found))).toEqual([]);
  });

  it('explains only grants that it takes away', () => {
    const unused = takenAway.flatMap(({ roles, grant }) =>
      roles.filter((role) => !missing.some((found) => found.role === role && grant.test(found.grant))),
    );
    expect(unused).toEqual([]);
  });
});
