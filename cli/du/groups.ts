import { z } from 'zod';
import { dayMs, yearMs } from '../../lambda/core/rules/dates.ts';
import { parseJson } from '../../lambda/core/rules/text.ts';
import type { CountedPart } from '../../lambda/core/scan/rules/scan-plan.ts';
import { type Folder, type FolderSum, folderFrom, type KeptFolder, keptOf, largestOf } from './folders.ts';

/** What `du --by` can group objects by. */
export const groupings = ['age', 'suffix', 'class', 'size'] as const;
export type Grouping = (typeof groupings)[number];
/** `du --all` groups versions by what they are. */
type AnyGrouping = Grouping | 'kind';

/** What a version of a key can be. */
export const kinds = ['current', 'old versions', 'delete markers'] as const;

const count = z.number();
/** Versions of a key and their bytes, in the order of {@link kinds}. */
export const sumsSchema = z.tuple([count, count, count, count, count, count]);
export type Sums = z.output<typeof sumsSchema>;

type Steps = readonly (readonly [below: number, group: string])[];
const unknown = 'unknown';
/** Of a key without suffix, and of a store that tells no class. */
const none = '(none)';
const others = 'others';

const KiB = 1024;

/** Days for which S3 bills at least: 30 for infrequent access, 90 for Glacier, 180 for Deep Archive. */
const ages: Steps = [
  [30 * dayMs, 'under 30 days'],
  [90 * dayMs, '30–90 days'],
  [180 * dayMs, '90–180 days'],
  [yearMs, '180–365 days'],
  [Number.POSITIVE_INFINITY, 'over a year'],
];

/** S3 bills a smaller object of an infrequent access class as 128 KiB. One PUT takes up to 5 GiB. */
const sizes: Steps = [
  [128 * KiB, 'under 128 KiB'],
  [KiB ** 2, '128 KiB–1 MiB'],
  [8 * KiB ** 2, '1–8 MiB'],
  [64 * KiB ** 2, '8–64 MiB'],
  [512 * KiB ** 2, '64–512 MiB'],
  [5 * KiB ** 3, '512 MiB–5 GiB'],
  [Number.POSITIVE_INFINITY, '5 GiB and over'],
];

function stepOf(steps: Steps, value: number): string {
  for (const [below, group] of steps) if (value < below) return group;
  return unknown;
}

function groupOf(by: Grouping, page: CountedPart['page'], at: { index: number; nowMs: number }): string {
  const { index, nowMs } = at;
  if (by === 'age') return stepOf(ages, nowMs - (page.lastModifiedMsAt(index) ?? Number.NaN));
  if (by === 'size') return stepOf(sizes, page.sizeAt(index));
  return (by === 'class' ? page.storageClassAt?.(index) : page.suffixAt?.(index)) || none;
}

/** Suffixes and classes that are told apart. Those that are found later are others: no scan grows without bound. */
const groupsMax = 10_000;

/** Sums by one grouping, in bounded memory. The name of a group is its `folder`. */
export class GroupSums {
  readonly #input: { readonly by: AnyGrouping; readonly nowMs: number };
  readonly #sums = new Map<string, FolderSum>();

  /** @param input.nowMs from which ages count. @param kept what an earlier process had. */
  constructor(input: { by: AnyGrouping; nowMs: number }, kept: readonly KeptFolder[] = []) {
    this.#input = input;
    for (const { folder, ...sum } of kept.map(folderFrom)) this.#sums.set(folder, sum);
  }

  add({ page, keyCount }: CountedPart): void {
    const { by, nowMs } = this.#input;
    // Numbers, as long as they are of one page.
    const found = new Map<string, { objects: number; bytes: number }>();
    const note = (group: string, objects: number, bytes: number) => {
      const sum = found.get(group);
      if (sum === undefined) found.set(group, { objects, bytes });
      else {
        sum.objects += objects;
        sum.bytes += bytes;
      }
    };
    for (let index = 0; index < keyCount; index += 1) {
      if (by !== 'kind') note(groupOf(by, page, { index, nowMs }), 1, page.sizeAt(index));
      else {
        const sums = sumsSchema.parse(parseJson(page.storageClassAt?.(index) ?? ''));
        for (const [at, kind] of kinds.entries()) note(kind, sums[2 * at] ?? 0, sums[2 * at + 1] ?? 0);
      }
    }
    for (const [name, { objects, bytes }] of found) {
      const group = this.#sums.has(name) || this.#sums.size < groupsMax ? name : others;
      const sum = this.#sums.get(group) ?? { objects: 0, bytes: 0n };
      this.#sums.set(group, { objects: sum.objects + objects, bytes: sum.bytes + BigInt(bytes) });
    }
  }

  get result(): readonly Folder[] {
    return [...this.#sums].map(([folder, sum]) => ({ folder, ...sum }));
  }

  /** What a continuation needs. */
  keep(): readonly KeptFolder[] {
    return this.result.map(keptOf);
  }
}

/** The groups that are shown: steps in their order, or the `top` by bytes, and one for all others. */
export function shownGroups(by: Grouping, groups: readonly Folder[], top: number): readonly Folder[] {
  if (by === 'age' || by === 'size') {
    const order = [...(by === 'age' ? ages : sizes).map(([, group]) => group), unknown];
    return order.flatMap((name) => groups.find(({ folder }) => folder === name) ?? []);
  }
  const largest = largestOf(
    groups.filter(({ folder }) => folder !== others),
    top,
  );
  const rest = groups.filter((each) => !largest.includes(each));
  if (rest.length === 0) return largest;
  const objects = rest.reduce((sum, each) => sum + each.objects, 0);
  return [...largest, { folder: others, objects, bytes: rest.reduce((sum, each) => sum + each.bytes, 0n) }];
}
