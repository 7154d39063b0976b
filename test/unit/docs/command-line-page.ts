import { Command, type Option } from 'commander';
import { exitCodes } from '../../../cli/errors.ts';
import { type CalledCommand, commandsOf, shownOf } from '../../../cli/help.ts';
import { withoutOperands } from '../../../cli/old-names.ts';
import { withServiceOptions } from '../../../cli/options.ts';
import { oldNames } from '../../../cli/program.ts';

/** Options of nearly every command: the page has them once. */
const common: readonly string[] = withServiceOptions(new Command()).options.map(({ flags }) => flags);
const shared: readonly string[] = [...common, '--json', '-y, --yes', '--page-size <n>', '-h, --help'];

/** All of docs/command-line.md. `--help` of a command has the rest: examples, and each option in full. */
export function commandLinePage(program: Command): string {
  const codes = Object.values(exitCodes).map(({ code, meaning }) => `| ${code} | ${meaning} |`);
  const shown = shownOf(program);
  const renames = Object.entries(oldNames).map(([was, now]) => `\`${was}\` → \`${withoutOperands(now)}\``);
  const commands = shown.map((command, index) => {
    const name = command.name();
    const group = command.helpGroup();
    const isFirst = shown[index - 1]?.helpGroup() !== group;
    const inside = shownOf(command).length > 0 ? commandsOf(command, [name]) : [{ words: name, command }];
    return [
      ...(isFirst ? [`## ${group.replace(':', '')}`, ''] : []),
      `### ${name}`,
      '',
      ...inside.map(commandText),
      '',
    ].join('\n');
  });
  return `# Commands

## Install

You need Node 20.19 or newer, and nothing else. Download the package from a [release](../CHANGELOG.md) on GitHub, then run
\`npm install -g ./lfs-quota-0.1.0.tgz\`. It also contains the server, \`lfs-quota serve\`.

To install what's in a clone of the repository, run \`npm ci\` in it once. Then:

\`\`\`sh
npm install -g "$(npm pack --silent)"
\`\`\`

\`npx lfs-quota\` works in the clone without an install. npx can run a package without an install, too:
\`npx --package ./lfs-quota-0.1.0.tgz lfs-quota\`. npm might delete what it ran, and Git needs it later. So \`login\` and
\`connect\` then copy it (7 MB) next to your login. To update the copy, log in with a newer package.

## Use

Log in once, and open the link that you see. If you have a token, add \`--with-token\`:

\`\`\`sh
lfs-quota login https://lfs.example.com
\`\`\`

In a connected clone you can leave out TENANT, or TENANT and REPO. With one login you can leave out TENANT. In scripts, set
LFS_QUOTA_URL and LFS_QUOTA_TOKEN: they go before your login. It's in \`~/.config/lfs-quota/credentials.json\`, readable only by you.

\`lfs-quota COMMAND --help\` shows examples. These options work with nearly every command:

- \`--url\`, \`--token\`: instead of your login. Other users of your machine can see a command line, so prefer the variables.
- \`--json\`: one JSON object on stdout, with the fields of the API. Lists contain all pages. \`usage --watch\` and \`files delete\`
  print one object a line. Messages, prompts and progress go to stderr.
- \`--yes\`: skip the prompt. Without a terminal, a command that would prompt exits with 2.

Tables fit your terminal. Piped output isn't shortened. \`NO_COLOR\` and \`FORCE_COLOR\` work.

Retry while the server is busy:

\`\`\`sh
until lfs-quota usage acme --json > usage.json; do [ $? -eq 6 ] || exit; sleep 5; done
\`\`\`

Completion: add \`source <(lfs-quota completion bash)\` to \`~/.bashrc\`, or the same for \`zsh\`. In fish, run
\`lfs-quota completion fish | source\`.

Until 0.2, these old names work, too: ${renames.join(', ')}.

| Exit code | Meaning |
| --- | --- |
${codes.join('\n')}

*Generated: \`npx vitest run test/unit/docs/command-line-page.test.ts -u\` rewrites it.*

${commands.join('\n').trimEnd()}
`;
}

function commandText({ words, command }: CalledCommand): string {
  const options = command.createHelp().visibleOptions(command);
  const rows = options
    .filter(({ flags }) => !shared.includes(flags))
    .map((option) => `  - \`${option.flags}\`: ${described(option)}`);
  const usage = ['lfs-quota', words, operandsOf(command)].filter((part) => part !== '').join(' ');
  return [`- \`${usage}\`: ${described(command)}`, ...rows].join('\n');
}

/** As the usage shows them: `[TENANT] SIZE`. */
const operandsOf = (command: Command) =>
  command
    .usage()
    .replace(/^\[options\] ?/, '')
    .replaceAll(/[<>]/g, '')
    .replaceAll('...', '…')
    .toUpperCase();

function described(what: Option | Command): string {
  const text = what instanceof Command ? what.description() : what.description;
  const choices = 'argChoices' in what && what.argChoices ? ` (${what.argChoices.join(', ')})` : '';
  return `${text.replaceAll('<', '&lt;')}${choices}`;
}
