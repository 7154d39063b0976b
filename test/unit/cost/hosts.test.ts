import { describe, expect, it } from 'vitest';
import { monthEverywhere, type Team } from '../../../cost/hosts.ts';
import { defaultWorkload, monthOf, sumOf, totalOf } from '../../../cost/operations.ts';

const GiB = 1024 ** 3;
const GB = 1e9;
/** AWS bills GiB. */
const perGb = GB / GiB;
const team = (more: Partial<Team>): Team => ({
  storedBytes: GB,
  objects: 200,
  downloadsGb: 0,
  users: 1,
  ...more,
});
const monthAt = (place: string, more: Partial<Team>) => {
  const month = monthEverywhere(team(more)).find((each) => each.place.startsWith(place));
  return [month?.plan, month?.dollars];
};
/** By hand: within a cent. */
const dollars = (value: number) => expect.closeTo(value, 2);

describe('GitHub', () => {
  it.each([
    [{ storedBytes: 10 * GiB, downloadsGb: (10 * GiB) / GB }, 'Free', 0],
    [{ storedBytes: 12 * GiB, downloadsGb: (30 * GiB) / GB }, 'Free', 2 * 0.07 + 20 * 0.0875],
    // Seats of Team are cheaper than the downloads that they include.
    [{ storedBytes: 10 * GiB, downloadsGb: (260 * GiB) / GB, users: 3 }, 'Team', 12 + 10 * 0.0875],
    [{ storedBytes: 10 * GiB, downloadsGb: (260 * GiB) / GB, users: 30 }, 'Free', 250 * 0.0875],
  ])('%j', (more, plan, expected) => {
    expect(monthAt('GitHub', more)).toEqual([plan, dollars(expected)]);
  });
});

describe('GitLab', () => {
  it.each([
    [{ storedBytes: 10 * GiB, users: 5, downloadsGb: 1e6 }, 'Free', 0],
    // Packs of 10 GiB.
    [{ storedBytes: 21 * GiB, users: 5 }, 'Free', 10],
    [{ storedBytes: 1, users: 6 }, 'Premium', 6 * 29],
    [{ storedBytes: 500 * GiB, users: 1 }, 'Premium', 29],
  ])('%j', (more, plan, expected) => {
    expect(monthAt('GitLab', more)).toEqual([plan, dollars(expected)]);
  });

  it('takes no larger repo', () => {
    expect(monthAt('GitLab', { storedBytes: 501 * GiB })).toEqual([null, null]);
  });
});

describe('Hugging Face', () => {
  it.each([
    [{ storedBytes: 100 * GB, users: 50 }, 'Free', 0],
    [{ storedBytes: 101 * GB, users: 2 }, 'Team', 40],
    [{ storedBytes: 2000 * GB, users: 2 }, 'Team', 40],
    [{ storedBytes: 2001 * GB, users: 2 }, 'Team', 40 + 18],
  ])('%j', (more, plan, expected) => {
    expect(monthAt('Hugging Face', more)).toEqual([plan, dollars(expected)]);
  });
});

describe('lfs-quota', () => {
  it('costs what the model says', () => {
    // 200 objects of 5 MB: one push of 20, and ten fetches.
    const workload = { ...defaultWorkload, tenants: 1, objects: 200, objectMb: 5e6 / 1024 ** 2 };
    const month = monthOf({ ...workload, pushes: 1, fetches: 10, monitoring: 'basic' }, 's3');
    expect(monthAt('lfs-quota on AWS, with S3', { downloadsGb: 1 })).toEqual([
      null,
      expect.closeTo(totalOf(sumOf(month)), 6),
    ]);
  });

  it.each([
    // The free TB, and beyond it. Its key costs $0.40.
    [1000, 0.4 - 1000 * perGb * 0.09],
    [1500, 0.4 + (1500 * perGb - 1024) * 0.085 - 1500 * perGb * 0.09],
  ])('with CloudFront costs for %i GB of downloads what differs', (downloadsGb, differs) => {
    const [, s3] = monthAt('lfs-quota on AWS, with S3', { downloadsGb });
    const [, cdn] = monthAt('lfs-quota on AWS, with S3 and CloudFront', { downloadsGb });
    expect(Number(cdn) - Number(s3)).toBeCloseTo(differs, 6);
  });

  it('with CloudFront pays for requests above ten million', () => {
    // 15 million objects of 5 kB each.
    const more = { storedBytes: 25 * GB, objects: 5e6, downloadsGb: 75 };
    const [, s3] = monthAt('lfs-quota on AWS, with S3', more);
    const [, cdn] = monthAt('lfs-quota on AWS, with S3 and CloudFront', more);
    expect(Number(cdn) - Number(s3)).toBeCloseTo(0.4 + 5 - 75 * perGb * 0.09, 6);
  });

  it('on a machine costs its bucket, and with its disk nothing', () => {
    const [, withR2] = monthAt('lfs-quota on your machine, with R2', { storedBytes: 1000 * GB });
    expect(withR2).toBeGreaterThan(1000 * 0.015);
    expect(withR2).toBeLessThan(1.1 * 1000 * 0.015);
    expect(monthAt('lfs-quota on your machine, with its disk', {})).toEqual([null, 0]);
  });
});
