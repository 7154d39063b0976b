import type { Offer, OfferedCommand, OfferedOption } from './model.ts';

/** A script that zsh sources, or has in its `fpath` as `_lfs-quota`. */
export function zshScript(commands: readonly OfferedCommand[]): string {
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
