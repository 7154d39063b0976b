import type { Offer, OfferedCommand } from './model.ts';

/** A script that bash sources: of bash 3.2, which macOS has, or newer. */
export function bashScript(commands: readonly OfferedCommand[]): string {
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
