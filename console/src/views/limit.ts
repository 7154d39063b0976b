import { formatBytes } from '../../../lambda/core/rules/sizes.ts';
import { bytesText } from '../text.ts';

/** A limit as somebody types it, and what it would do. */

export const sizeUnits: readonly string[] = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export interface TypedLimit {
  readonly number: string;
  readonly unit: string;
  readonly isNone: boolean;
}

/** How a limit is written, as everywhere: with two decimals at most. null: no limit. */
export function typedLimit(bytes: number | null): TypedLimit {
  const [number = '', unit = 'GiB'] = bytes === null ? [] : formatBytes(bytes).split(' ');
  return { number, unit, isNone: bytes === null };
}

/** The bytes that were typed, null for no limit. undefined: nothing valid. */
export function limitOf({ number, unit, isNone }: TypedLimit): number | null | undefined {
  if (isNone) return null;
  if (!/^\d+(\.\d+)?$/.test(number.trim())) return undefined;
  const bytes = Math.round(Number(number) * 1024 ** sizeUnits.indexOf(unit));
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Whether it is the limit that applies, also if that was rounded to be written. */
export function isUnchanged(typed: TypedLimit, limitBytes: number | null): boolean {
  const now = typedLimit(limitBytes);
  if (typed.isNone || now.isNone) return typed.isNone === now.isNone;
  return typed.number.trim() === now.number && typed.unit === now.unit;
}

/** What the limit would do, before it is saved. */
export function consequence(input: {
  /** undefined: nothing valid was typed. */
  limitBytes: number | null | undefined;
  usedBytes: number;
  /** Such as `in use`. */
  used: string;
  /** What happens below that. */
  below: string;
}): string {
  const { limitBytes, usedBytes, used, below } = input;
  const now = `${bytesText(usedBytes)} ${used}`;
  if (limitBytes === undefined || limitBytes === null) return `${now}.`;
  if (limitBytes >= usedBytes) return `${now}: ${bytesText(limitBytes - usedBytes)} free.`;
  return `${now}: ${bytesText(usedBytes - limitBytes)} more than this. ${below}`;
}
