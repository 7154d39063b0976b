/** Words that called a command before → what calls it now. Each `$` stands for the next operand. */
export type OldNames = Readonly<Record<string, string>>;

interface Renamed {
  readonly args: readonly string[];
  /** A line for whoever typed the old name. */
  readonly note: string;
}

export const withoutOperands = (now: string) => now.replaceAll(/ (--\w+ )?\$/g, '');

/**
 * @param takesValue whether an option of a command has a value, which is the next word.
 * @returns undefined: it's no old name.
 */
export function renamed(
  args: readonly string[],
  names: OldNames,
  takesValue: (words: string, option: string) => boolean,
): Renamed | undefined {
  const isMeant = (words: string) => words.split(' ').every((word, index) => args[index] === word);
  const [was, now] =
    Object.entries(names)
      .sort(([some], [others]) => others.length - some.length)
      .find(([words]) => isMeant(words)) ?? [];
  if (was === undefined || now === undefined) return undefined;
  const words = now.replace(/ [-$].*/, '');
  const [operands, options]: [string[], string[]] = [[], []];
  const given = [...args.slice(was.split(' ').length)];
  for (let arg = given.shift(); arg !== undefined; arg = given.shift()) {
    const isOption = arg.startsWith('-');
    (isOption ? options : operands).push(arg);
    if (isOption && takesValue(words, arg)) options.push(...given.splice(0, 1));
  }
  const meant: string[] = [];
  for (const word of now.split(' ')) {
    const value = word === '$' ? operands.shift() : word;
    if (value !== undefined) meant.push(value);
    // What a clone stands for has no option, either.
    else if (meant.at(-1)?.startsWith('-')) meant.pop();
  }
  return {
    args: [...meant, ...operands, ...options],
    note: `\`lfs-quota ${was}\` is \`lfs-quota ${withoutOperands(now)}\` now. The old name works until 0.2.\n`,
  };
}
