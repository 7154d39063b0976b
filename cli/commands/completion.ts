import { Argument, type Command, type Option } from 'commander';
import type { CliContext } from '../context.ts';
import { shownOf } from '../help.ts';

/** What the shell may offer for a value: these words, files, folders, or nothing. */
type Offer = readonly string[] | 'files' | 'folders' | 'nothing';

interface OfferedOption {
  /** `-y` and `--yes`. */
  readonly flags: readonly string[];
  readonly about: string;
  /** Of its value; undefined: it takes none. */
  readonly value: Offer | undefined;
}

/** A command or a group of some, as a shell completes it. */
interface OfferedCommand {
  /** Its words, without the program's: `tenant create`; empty for the program itself. */
  readonly words: string;
  readonly commands: readonly { readonly name: string; readonly about: string }[];
  readonly options: readonly OfferedOption[];
  readonly operands: readonly { readonly name: string; readonly offer: Offer; readonly isLast: boolean }[];
}

/** The program, its groups and its commands, each before those that it has. */
export function offeredCommands(command: Command, words: readonly string[] = []): OfferedCommand[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command);
  return [
    {
      words: words.join(' '),
      commands: commands.map((each) => ({ name: each.name(), about: aboutOf(each.description()) })),
      options: help.visibleOptions(command).map(offeredOption),
      operands: command.registeredArguments.map((operand) => ({
        name: operand.name(),
        offer: offerOf(operand, operand.name()),
        isLast: operand.variadic,
      })),
    },
    ...shownOf(command).flatMap((each) => offeredCommands(each, [...words, each.name()])),
  ];
}

function offeredOption(option: Option): OfferedOption {
  const [, placeholder] = /[<[]([^>\]]+)[>\]]/.exec(option.flags) ?? [];
  return {
    flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
    about: aboutOf(option.description),
    value: placeholder === undefined ? undefined : offerOf(option, placeholder),
  };
}

function offerOf({ argChoices }: Option | Argument, placeholder: string): Offer {
  if (argChoices) return argChoices;
  if (placeholder === 'file') return 'files';
  return placeholder === 'dir' ? 'folders' : 'nothing';
}

/** Of a description: what comes before details. */
function aboutOf(description: string): string {
  return (description.split(/[;(]|, such as/)[0] ?? '').trim();
}

/** A script that bash sources: of bash 3.2, which macOS has, or newer. */
function bashScript(commands: readonly OfferedCommand[]): string {
  return `# Completion of lfs-quota for bash: source <(lfs-quota completion bash)

# What a command has: sets words, options and valued.
_lfs_quota_has() {
  words= options= valued=
  case $1 in
${commands.map(commandCase).join('\n')}
  esac
}

# What there is for a value: of an option, or of the operand of that number. Sets values.
_lfs_quota_values() {
  values=
  case $1 in
${commands.flatMap(valueCases).join('\n')}
  esac
}

_lfs_quota() {
  local cur=\${COMP_WORDS[COMP_CWORD]} path= place=1 option= word i words options valued values
  [[ $cur == = ]] && cur=
  _lfs_quota_has ''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ -n $option ]]; then
      [[ $word == = ]] || option=
    elif [[ $word == -* ]]; then
      [[ " $valued " == *" $word "* ]] && option=$word
    elif [[ " $words " == *" $word "* ]]; then
      path=\${path:+$path }$word
      _lfs_quota_has "$path"
    else
      place=$((place + 1))
    fi
  done
  if [[ -z $option && $cur == -* ]]; then
    values=$options
  elif [[ -z $option && -n $words ]]; then
    values=$words
  else
    _lfs_quota_values "$path \${option:-$place}"
  fi
  # Without replies the shell offers files.
  COMPREPLY=()
  [[ $values == '<files>' ]] && return
  if [[ $values == '<folders>' ]]; then
    local IFS=$'\\n'
    COMPREPLY=($(compgen -d -- "$cur"))
    type compopt >/dev/null 2>&1 && compopt -o filenames
    return
  fi
  type compopt >/dev/null 2>&1 && compopt +o default
  COMPREPLY=($(compgen -W "$values" -- "$cur"))
}

complete -o default -F _lfs_quota lfs-quota
`;
}

function commandCase({ words, commands, options }: OfferedCommand): string {
  const flags = options.flatMap((option) => option.flags);
  const valued = options.flatMap((option) => (option.value === undefined ? [] : option.flags));
  const sets = [
    ...(commands.length > 0 ? [`words='${commands.map(({ name }) => name).join(' ')}'`] : []),
    `options='${flags.join(' ')}'`,
    ...(valued.length > 0 ? [`valued='${valued.join(' ')}'`] : []),
  ];
  return `    '${words}') ${sets.join(' ')} ;;`;
}

function valueCases({ words, options, operands }: OfferedCommand): string[] {
  const valuesOf = (offer: Offer) => (typeof offer === 'string' ? `<${offer}>` : offer.join(' '));
  const line = (place: string, offer: Offer | undefined) =>
    offer === undefined || offer === 'nothing'
      ? []
      : [`    '${words} ${place}') values='${valuesOf(offer)}' ;;`];
  return [
    ...options.flatMap(({ flags, value }) => flags.flatMap((flag) => line(flag, value))),
    ...operands.flatMap(({ offer }, index) => line(String(index + 1), offer)),
  ];
}

/** A script that zsh sources, or has in its `fpath` as `_lfs-quota`. */
function zshScript(commands: readonly OfferedCommand[]): string {
  return `#compdef lfs-quota
# Completion of lfs-quota for zsh, below compinit: source <(lfs-quota completion zsh)

${commands.map(commandFunction).join('\n')}
if [[ $funcstack[1] == _lfs-quota ]]; then
  _lfs_quota "$@"
else
  compdef _lfs_quota lfs-quota
fi
`;
}

const functionOf = (words: string) => `_lfs_quota${words === '' ? '' : `__${words.replace(/[ -]/g, '_')}`}`;

function commandFunction(command: OfferedCommand): string {
  const { words, commands, options, operands } = command;
  const specs = options.map(optionSpec);
  if (commands.length > 0) {
    const names = commands.map(({ name, about }) => `    ${quoted(`${name}:${about}`)}`);
    const below = commands
      .filter(({ name }) => name !== 'help')
      .map(({ name }) => {
        const all = words === '' ? name : `${words} ${name}`;
        return `        ${name}) ${functionOf(all)} ;;`;
      });
    return `${functionOf(words)}() {
  local curcontext=$curcontext state state_descr line
  typeset -A opt_args
  local -a names=(
${names.join('\n')}
  )
  _arguments -C \\
${[...specs, "'1: :->command'", "'*:: :->rest'"].map((spec) => `    ${spec}`).join(' \\\n')}
  case $state in
    command) _describe -t commands command names ;;
    rest)
      case $line[1] in
${below.join('\n')}
      esac
      ;;
  esac
}
`;
  }
  const places = operands.map(({ name, offer, isLast }, index) =>
    quoted(`${isLast ? '*' : index + 1}:${name}:${actionOf(offer)}`),
  );
  return `${functionOf(words)}() {
  _arguments \\
${[...specs, ...places].map((spec) => `    ${spec}`).join(' \\\n')}
}
`;
}

function optionSpec({ flags, about, value }: OfferedOption): string {
  const text = `[${about.replace(/[[\]:\\]/g, '\\$&')}]${value === undefined ? '' : `:value:${actionOf(value)}`}`;
  if (flags.length === 1) return quoted(`*${flags[0]}${text}`);
  return `${quoted(`(${flags.join(' ')})`)}{${flags.join(',')}}${quoted(text)}`;
}

function actionOf(offer: Offer): string {
  if (offer === 'files') return '_files';
  if (offer === 'folders') return '_files -/';
  return offer === 'nothing' ? ' ' : `(${offer.join(' ')})`;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** A script that fish sources, or has as `completions/lfs-quota.fish`. */
function fishScript(commands: readonly OfferedCommand[]): string {
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
          .map(({ words }) => quotedInFish(words))
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
    `complete -c lfs-quota -n ${quotedInFish(`__lfs_quota_at ${quotedInFish(words)}${place === undefined ? '' : ` ${place}`}`)}`;
  return [
    ...commands.map(({ name, about }) => `${at(1)} -a ${name} -d ${quotedInFish(about)}`),
    ...options.map((option) => `${at()} ${optionWords(option)}`),
    ...operands.flatMap(({ offer }, index) =>
      offer === 'nothing' ? [] : [`${at(index + 1)} ${offerWords(offer)}`],
    ),
  ];
}

function optionWords({ flags, about, value }: OfferedOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const takes = value === undefined ? [] : [value === 'files' ? '-r' : '-x', offerWords(value)];
  return [...names, ...takes, '-d', quotedInFish(about)].filter((word) => word !== '').join(' ');
}

function offerWords(offer: Offer): string {
  if (offer === 'files') return '-F';
  if (offer === 'folders') return "-a '(__fish_complete_directories)'";
  return offer === 'nothing' ? '' : `-a ${quotedInFish(offer.join(' '))}`;
}

const quotedInFish = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;

const shells: Readonly<Record<string, (commands: readonly OfferedCommand[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** `completion SHELL`: the script says all that there is, so that the Tab key starts no program and asks no service. */
export function registerCompletion(program: Command, context: CliContext): void {
  program
    .command('completion')
    .description('Print shell completions')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(shells)))
    .action((shell: string) => context.out(shells[shell]?.(offeredCommands(program)) ?? ''));
}
