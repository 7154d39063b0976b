import type { CountedPart, PathScanInput } from '../../lambda/scan/rules/scan-plan.ts';
import type { FolderSum } from './folders.ts';

/** What `du --by` can group objects by. */
export const groupings = ['age', 'suffix', 'class', 'size'] as const;
export type Grouping = (typeof groupings)[number];

/** Bytes and objects of each group, in a form that JSON can hold. */
export type KeptGroups = readonly (readonly [group: string, objects: number, bytes: string])[];

export interface Group extends Readonly<FolderSum> {
  readonly group: string;
}

/** Suffixes and classes that are told apart. Those that are found later are others: no scan grows without bound. */
const groupsMax = 10_000;
const otherGroups = 'others';

const dayMs = 86_400_000;
const KiB = 1024;

interface Step {
  readonly below: number;
  readonly group: string;
}

/** Days for which S3 bills at least: 30 for infrequent access, 90 for Glacier, 180 for Deep Archive. */
const ages: readonly Step[] = [
  { below: 30 * dayMs, group: 'under 30 days' },
  { below: 90 * dayMs, group: '30–90 days' },
  { below: 180 * dayMs, group: '90–180 days' },
  { below: 365 * dayMs, group: '180–365 days' },
  { below: Number.POSITIVE_INFINITY, group: 'over a year' },
];
const noAge = 'unknown';

/** S3 bills a smaller object of an infrequent access class as 128 KiB. One PUT takes up to 5 GiB. */
const sizes: readonly Step[] = [
  { below: 128 * KiB, group: 'under 128 KiB' },
  { below: KiB ** 2, group: '128 KiB–1 MiB' },
  { below: 8 * KiB ** 2, group: '1–8 MiB' },
  { below: 64 * KiB ** 2, group: '8–64 MiB' },
  { below: 512 * KiB ** 2, group: '64–512 MiB' },
  { below: 5 * KiB ** 3, group: '512 MiB–5 GiB' },
  { below: Number.POSITIVE_INFINITY, group: '5 GiB and over' },
];

/** The order of the groups that are steps. Others are shown by bytes. */
const stepsOf: Readonly<Partial<Record<Grouping, readonly string[]>>> = {
  age: [...ages.map(({ group }) => group), noAge],
  size: sizes.map(({ group }) => group),
};

function stepOf(steps: readonly Step[], value: number): string {
  for (const { below, group } of steps) if (value < below) return group;
  return noAge;
}

/** Of a key without suffix, and of a store that tells no class. */
const none = '(none)';

/** What the pages must tell for it. */
export function readsFor(by: readonly Grouping[]): NonNullable<PathScanInput['reads']> {
  return { readsTimes: by.includes('age'), readsClasses: by.includes('class') };
}

type GroupOf = (page: CountedPart['page'], index: number) => string;

const groupOfs: Readonly<Record<Grouping, (nowMs: number) => GroupOf>> = {
  age: (nowMs) => (page, index) => stepOf(ages, nowMs - (page.lastModifiedMsAt(index) ?? Number.NaN)),
  suffix: () => (page, index) => page.suffixAt(index) || none,
  class: () => (page, index) => page.storageClassAt(index) || none,
  size: () => (page, index) => stepOf(sizes, page.sizeAt(index)),
};

/** Sums by one grouping, in bounded memory. */
export class GroupSums {
  readonly #groupOf: GroupOf;
  readonly #sums = new Map<string, FolderSum>();

  /** @param input.nowMs from which ages count. @param input.kept what an earlier process had. */
  constructor({ by, nowMs, kept = [] }: { by: Grouping; nowMs: number; kept?: KeptGroups | undefined }) {
    this.#groupOf = groupOfs[by](nowMs);
    for (const { group, ...sum } of kept.map(groupFrom)) this.#sums.set(group, sum);
  }

  add({ page, keyCount }: CountedPart): void {
    // Numbers, as long as they are of one page.
    const found = new Map<string, { objects: number; bytes: number }>();
    for (let index = 0; index < keyCount; index += 1) {
      const group = this.#groupOf(page, index);
      let sum = found.get(group);
      if (sum === undefined) {
        sum = { objects: 0, bytes: 0 };
        found.set(group, sum);
      }
      sum.objects += 1;
      sum.bytes += page.sizeAt(index);
    }
    for (const [group, { objects, bytes }] of found) {
      const sum = this.#sumOf(group);
      sum.objects += objects;
      sum.bytes += BigInt(bytes);
    }
  }

  /** What a continuation needs. */
  keep(): KeptGroups {
    return [...this.#sums].map(([group, { objects, bytes }]) => [group, objects, String(bytes)]);
  }

  get result(): readonly Group[] {
    return [...this.#sums].map(([group, sum]) => ({ group, ...sum }));
  }

  #sumOf(name: string): FolderSum {
    const group = this.#sums.has(name) || this.#sums.size < groupsMax ? name : otherGroups;
    const sum = this.#sums.get(group) ?? { objects: 0, bytes: 0n };
    this.#sums.set(group, sum);
    return sum;
  }
}

export function groupFrom([group, objects, bytes]: KeptGroups[number]): Group {
  return { group, objects, bytes: BigInt(bytes) };
}

/**
 * The groups that are shown: steps in their order, others by bytes.
 *
 * @param options.top how many groups are shown that are no steps. The rest is one.
 */
export function shownGroups(by: Grouping, groups: readonly Group[], { top }: { top: number }): Group[] {
  const steps = stepsOf[by];
  if (steps) {
    const found = new Map(groups.map((each) => [each.group, each]));
    return steps
      .map((group) => found.get(group) ?? { group, objects: 0, bytes: 0n })
      .filter(({ group, objects }) => group !== noAge || objects > 0);
  }
  const named = groups.filter(({ group }) => group !== otherGroups);
  const largest = named
    .sort((a, b) => (a.bytes === b.bytes ? (a.group < b.group ? -1 : 1) : a.bytes > b.bytes ? -1 : 1))
    .slice(0, top);
  const rest = groups.filter((each) => !largest.includes(each));
  if (rest.length === 0) return largest;
  const objects = rest.reduce((sum, each) => sum + each.objects, 0);
  return [
    ...largest,
    { group: otherGroups, objects, bytes: rest.reduce((sum, each) => sum + each.bytes, 0n) },
  ];
}
