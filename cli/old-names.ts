/** Words that called a command in the last release → what calls it now. Each `$` stands for the next operand. */
export type OldNames = Readonly<Record<string, string>>;

interface Renamed {
  readonly args: readonly string[];
  /** A line for whoever typed the old name. */
  readonly note: string;
}

export const withoutOperands = (now: string) => now.replaceAll(/ (--\w+ )?\$/g, '');

/** @returns undefined: it's no old name. */
export function renamed(args: readonly string[], names: OldNames): Renamed | undefined {
  const isMeant = (words: string) => words.split(' ').every((word, index) => args[index] === word);
  const [was, now] = Object.entries(names).find(([words]) => isMeant(words)) ?? [];
  if (was === undefined || now === undefined) return undefined;
  const given = args.slice(was.split(' ').length);
  const firstOption = given.findIndex((arg) => arg.startsWith('-'));
  const operands = firstOption === -1 ? given : given.slice(0, firstOption);
  const left = [...operands];
  const meant: string[] = [];
  for (const word of now.split(' ')) {
    const value = word === '$' ? left.shift() : word;
    if (value !== undefined) meant.push(value);
    // What a clone stands for has no option, either.
    else if (meant.at(-1)?.startsWith('-')) meant.pop();
  }
  return {
    args: [...meant, ...left, ...given.slice(operands.length)],
    note: `\`lfs-quota ${was}\` is \`lfs-quota ${withoutOperands(now)}\` now. The old name ends with the next release.\n`,
  };
}
