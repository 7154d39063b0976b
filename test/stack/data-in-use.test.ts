import { describe, expect, it } from 'vitest';
import type { DeploymentSettingsInput } from '../../lib/settings/deployment-settings.ts';
import { externalStore, templateOf } from './stack-template.ts';

interface Checked {
  readonly Parameters: Readonly<Record<string, { Default: string }>>;
  readonly Rules: Readonly<
    Record<
      string,
      { Assertions: { Assert: { 'Fn::Equals'?: [{ Ref: string }, string] }; AssertDescription: string }[] }
    >
  >;
}

/** What CloudFormation says to a deployment after another one, whose parameters the CDK keeps unless they are given. */
function refusals(
  before: DeploymentSettingsInput,
  after: DeploymentSettingsInput,
  given: Readonly<Record<string, string>> = {},
): string[] {
  const [first, next] = [before, after].map((settings) => templateOf(settings).toJSON() as Checked);
  const values = Object.fromEntries(
    [next, first].flatMap((template) =>
      Object.entries(template?.Parameters ?? {}).map(([name, { Default }]) => [name, Default]),
    ),
  );
  return Object.values(next?.Rules ?? {}).flatMap(({ Assertions }) =>
    Assertions.flatMap(({ Assert: { 'Fn::Equals': equals }, AssertDescription }) => {
      if (equals === undefined) return [];
      const [{ Ref }, wanted] = equals;
      return { ...values, ...given }[Ref] === wanted ? [] : [AssertDescription];
    }),
  );
}

const external = { objectStore: externalStore };
const attached = { objectStore: { kind: 'bucket' as const, existingBucket: 'kept-bucket' } };
const restored = { restoredTableName: 'lfs-quota-restored' };
const place = 'https://store.example.com/lfs-objects';

describe('a deployment that would leave data behind', () => {
  it.each([
    [
      'without its external store',
      external,
      {},
      /use the stack's own object store, and the last .*-c settings=FILE\.json.*ObjectStoreInUse=own$/,
    ],
    ['with an external store instead of its bucket', {}, external, `--parameters ObjectStoreInUse=${place}`],
    [
      'with another bucket',
      external,
      { objectStore: { ...externalStore, bucket: 'other' } },
      '--parameters ObjectStoreInUse=https://store.example.com/other',
    ],
    [
      'without the bucket that was attached',
      attached,
      {},
      /use the stack's own object store, and the last deployment used another one/,
    ],
    [
      'with a bucket that was kept instead of its own',
      {},
      attached,
      /use the object store kept-bucket, and the last .*--parameters ObjectStoreInUse=kept-bucket$/,
    ],
    ['without its restored table', restored, {}, /use the stack's own table, and .*-c settings=FILE\.json/],
  ])('is refused: %s', (_, before, after, message) => {
    expect(refusals(before, after)).toEqual([expect.stringMatching(message)]);
  });

  it('is not refused if it is asked for, as the refusal says', () => {
    expect(refusals({}, external, { ObjectStoreInUse: place })).toEqual([]);
    expect(refusals({}, restored, { TableInUse: 'lfs-quota-restored' })).toEqual([]);
  });
});

describe('any other deployment', () => {
  it.each([
    ['the first', external, external],
    [
      'of other settings',
      { ...external, throttle: { burst: 10 } },
      { ...external, logLevel: 'DEBUG' as const },
    ],
    ['that keeps deleted objects', {}, { objectStore: { kind: 'bucket' as const, keepDeletedDays: 7 } }],
    ['of the same store with another key', external, { objectStore: { ...externalStore, region: 'eu' } }],
  ])('is not refused: %s', (_, before, after) => {
    expect(refusals(before, after)).toEqual([]);
  });
});
