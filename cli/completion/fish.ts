import type { Offer, OfferedCommand, OfferedOption } from './model.ts';

/** A script that fish sources, or has as `completions/lfs-quota.fish`. */
export function fishScript(commands: readonly OfferedCommand[]): string {
  const valued = new Set(
    commands.flatMap(({ options }) =>
      options.flatMap(({ flags, value }) => (value === undefined ? [] : flags)),
    ),
  );
  return `# Completion of lfs-quota for fish: lfs-quota completion fish | source

# Whether the words before the cursor call this command, with so many operands if a number is given.
function __lfs_quota_at
    set -l path
    set -l place 1
    set -l skips no
    for word in (commandline -opc)[2..-1]
        if test $skips = yes
            set skips no
        else if contains -- $word ${[...valued].join(' ')}
            set skips yes
        else if string match -q -- '-*' $word
            continue
        else if contains -- (string join ' ' -- $path $word) ${commands
          .filter(({ words }) => words !== '')
          .map(({ words }) => quoted(words))
          .join(' ')}
            set -a path $word
        else
            set place (math $place + 1)
        end
    end
    set -l joined (string join ' ' -- $path)
    test "$joined" = "$argv[1]"; or return 1
    set -q argv[2]; or return 0
    test $place = $argv[2]
end

complete -c lfs-quota -f
${commands.flatMap(commandLines).join('\n')}
`;
}

function commandLines({ words, commands, options, operands }: OfferedCommand): string[] {
  const at = (place?: number) =>
    `complete -c lfs-quota -n ${quoted(`__lfs_quota_at ${quoted(words)}${place === undefined ? '' : ` ${place}`}`)}`;
  return [
    ...commands.map(({ name, about }) => `${at(1)} -a ${name} -d ${quoted(about)}`),
    ...options.map((option) => `${at()} ${optionWords(option)}`),
    ...operands.flatMap(({ offer }, index) =>
      offer === 'nothing' ? [] : [`${at(index + 1)} ${offerWords(offer)}`],
    ),
  ];
}

function optionWords({ flags, about, value }: OfferedOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const takes = value === undefined ? [] : [value === 'files' ? '-r' : '-x', offerWords(value)];
  return [...names, ...takes, '-d', quoted(about)].filter((word) => word !== '').join(' ');
}

function offerWords(offer: Offer): string {
  if (offer === 'files') return '-F';
  if (offer === 'folders') return "-a '(__fish_complete_directories)'";
  return offer === 'nothing' ? '' : `-a ${quoted(offer.join(' '))}`;
}

const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
