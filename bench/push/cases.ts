/** What is pushed: a number of files of one size, filled with random bytes, which nobody can compress. */
export interface PushCase {
  readonly name: string;
  readonly files: number;
  readonly fileBytes: number;
}

const megabyte = 1_000_000;

/** Many small, some middling, a few large ones. */
export const pushCases: Readonly<Record<string, PushCase>> = {
  small: { name: '1,000 × 4 KB', files: 1000, fileBytes: 4_000 },
  medium: { name: '200 × 1 MB', files: 200, fileBytes: megabyte },
  large: { name: '4 × 500 MB', files: 4, fileBytes: 500 * megabyte },
};

/** Fewer files of the same size, at least one. Its name tells the number. */
export function scaleCase(one: PushCase, scale: number): PushCase {
  if (scale === 1) return one;
  const files = Math.max(1, Math.round(one.files * scale));
  return { ...one, files, name: `${files}${one.name.slice(one.name.indexOf(' '))}` };
}
