import type { Command } from 'commander';
import { exitCodes } from './errors.ts';

/** A command that does something, with the words that call it: `tenant create`. */
export interface CalledCommand {
  readonly words: string;
  readonly command: Command;
}

/** All commands of the command line but `help`, in their order. Groups and what is hidden are left out. */
export function commandsOf(program: Command, before: readonly string[] = []): CalledCommand[] {
  return shownOf(program).flatMap((command) => {
    const words = [...before, command.name()];
    return shownOf(command).length > 0 ? commandsOf(command, words) : [{ words: words.join(' '), command }];
  });
}

/** The commands of a group that its help has. */
export function shownOf(group: Command): Command[] {
  const visible = group.createHelp().visibleCommands(group);
  return group.commands.filter((command) => visible.includes(command));
}

/** A command line that works as it stands, and what it is good for if that is not plain. */
type Example = readonly [line: string, what?: string];
export type Examples = Readonly<Record<string, readonly Example[]>>;

const oid = '4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8';

/**
 * One to three for each command, by its words; those of the subjects are with their commands. The help of the command and docs/command-line.md show them; a test gives
 * each to the command.
 */
export const examples: Examples = {
  login: [
    ['lfs-quota login https://lfs.example.com', 'shows a code for the console'],
    [
      'lfs-quota login https://lfs.example.com --with-token',
      'asks for a token, or reads it from standard input',
    ],
  ],
  whoami: [['lfs-quota whoami']],
  logout: [['lfs-quota logout https://lfs.example.com']],
  check: [
    ['lfs-quota check https://lfs.example.com --tenant acme', 'after a deployment, with the admin token'],
  ],
  'tenant create': [
    ['lfs-quota tenant create acme --limit 10GiB --plan team'],
    ['lfs-quota tenant create lab', 'without a limit'],
  ],
  'tenant list': [
    ['lfs-quota tenant list', 'who is near their limit?'],
    ["lfs-quota tenant list --json | jq -r '.tenants[].tenant'", 'all names'],
    ['lfs-quota tenant list --limit 10', 'only ten, the first by name'],
  ],
  'tenant show': [['lfs-quota tenant show acme']],
  'tenant limit': [['lfs-quota tenant limit acme 20GiB'], ['lfs-quota tenant limit acme unlimited']],
  'tenant download-limit': [['lfs-quota tenant download-limit acme 1TiB', 'each month']],
  'tenant plan': [['lfs-quota tenant plan acme team']],
  'tenant new-repos': [
    ['lfs-quota tenant new-repos acme created', "pushes can't create repos any more"],
    ['lfs-quota tenant new-repos acme pushed', 'the first push creates it'],
  ],
  'tenant storage-class': [['lfs-quota tenant storage-class acme STANDARD_IA']],
  'tenant suspend': [
    ['lfs-quota tenant suspend acme pushes --message https://example.com/overdue', 'its users see this'],
    ['lfs-quota tenant suspend acme all'],
  ],
  'tenant resume': [['lfs-quota tenant resume acme']],
  'repo storage-class': [
    ['lfs-quota repo storage-class acme game GLACIER_IR', 'for new objects of this repo'],
    ['lfs-quota repo storage-class acme game none', "the tenant's"],
  ],
  'tenant delete': [
    ['lfs-quota tenant delete acme --dry-run', 'preview it'],
    ['lfs-quota tenant delete acme', 'asks for its name first'],
  ],
  'token create': [
    ['lfs-quota token create acme --scope write --user ada --expires 90d'],
    ['lfs-quota token create acme --scope read --repo game --label "render farm"'],
    ['lfs-quota token create acme --scope manage --user grace', 'administers the tenant, but not its limit'],
  ],
  'token list': [['lfs-quota token list acme']],
  'token show': [['lfs-quota token show acme 5f0c1e2d3b4a5968']],
  'token revoke': [['lfs-quota token revoke acme 5f0c1e2d3b4a5968']],
  connect: [
    ['lfs-quota connect acme game', 'in the folder of a clone'],
    ['lfs-quota connect acme game --clone ~/game --read-only --expires 90d'],
  ],
  import: [
    ['lfs-quota import acme game --from https://github.com/acme/game.git', 'in a full clone of it'],
    ['lfs-quota import acme game --from https://github.com/acme/game.git --clone ~/game.git'],
    ['lfs-quota import acme game --archive acme-game.tar'],
  ],
  mirror: [['lfs-quota mirror acme game --to https://github.com/acme/game.git']],
  audit: [
    ['lfs-quota audit acme --from 2026-11-01'],
    ['lfs-quota audit acme --action token.revoke --limit 5', 'the newest five'],
  ],
  'repo create': [['lfs-quota repo create acme assets --limit 50GiB']],
  'repo list': [
    ['lfs-quota repo list acme'],
    ['lfs-quota repo list acme --json | jq .repos[0]', 'as in the API'],
  ],
  'repo show': [['lfs-quota repo show acme game']],
  'repo limit': [['lfs-quota repo limit acme game 10GiB'], ['lfs-quota repo limit acme game unlimited']],
  'repo delete': [
    ['lfs-quota repo delete acme game --dry-run', 'preview it'],
    ['lfs-quota repo delete acme game --yes --wait', 'in a script'],
  ],
  'files list': [
    ['lfs-quota files list --tenant acme --repo game'],
    ["lfs-quota files list --tenant acme --json | jq -r '.objects[].oid'", 'of all repos'],
  ],
  'files delete': [[`lfs-quota files delete ${oid} --tenant acme --repo game --wait`]],
  'files keep': [[`lfs-quota files keep ${oid} --tenant acme --repo game`]],
  'files deletions': [
    ['lfs-quota files deletions --tenant acme'],
    ['lfs-quota files deletions --tenant acme --repo game'],
  ],
  usage: [
    ['lfs-quota usage acme'],
    ['lfs-quota usage acme --refresh', 'scan again now'],
    ['lfs-quota usage acme --watch', 'while a push runs'],
  ],
  'scan now': [['lfs-quota scan now acme --dry-run', 'what would it find?'], ['lfs-quota scan now acme']],
  'scan list': [['lfs-quota scan list acme', 'progress, and time left']],
  'scan pause': [['lfs-quota scan pause acme footage']],
  'scan resume': [['lfs-quota scan resume acme footage']],
  'scan cancel': [['lfs-quota scan cancel acme footage']],
  'scan uploads': [['lfs-quota scan uploads acme'], ['lfs-quota scan uploads acme --repo game']],
  'scan cancel-uploads': [
    ['lfs-quota scan cancel-uploads acme --made-by 9f3c2b1a0d4e5f60 --yes'],
    ['lfs-quota scan cancel-uploads acme --repo game --id 0b5f1c2d3e4a59687766554433221100 --yes'],
    ['lfs-quota scan cancel-uploads acme --all --yes'],
  ],
  du: [
    ['lfs-quota du s3://my-bucket --by-prefix --top 3', 'the largest folders of any bucket'],
    ['lfs-quota du s3://my-bucket --by-prefix --resume my-bucket.du', 'hours of it, in several runs'],
    ['lfs-quota du --git', 'the repo of this clone, by path'],
  ],
  serve: [['lfs-quota serve --data /srv/lfs-quota --public-url https://lfs.example.com']],
  'table backup': [
    ['lfs-quota table backup --data /var/lib/lfs-quota table.jsonl'],
    ['lfs-quota table backup --data /var/lib/lfs-quota - | gzip > table.jsonl.gz'],
    ['lfs-quota table backup --name lfs-quota-prod-Table4711 table.jsonl'],
  ],
  'table restore': [
    [
      'lfs-quota table restore --data /srv/lfs-quota table.jsonl --uploads-from now',
      'objects in the data folder, or a new key for the store',
    ],
    ['lfs-quota table restore --data /srv/lfs-quota table.jsonl'],
    [
      'lfs-quota table restore --name lfs-quota-prod-Table4711 table.jsonl --again',
      'after it was interrupted',
    ],
  ],
  'table finish': [['lfs-quota table finish --name lfs-quota-restored']],
  'table rebuild': [['lfs-quota table rebuild --limit 10GiB']],
  doctor: [
    ['lfs-quota doctor s3://lfs-objects'],
    ['lfs-quota doctor s3://lfs-objects --endpoint https://store.example.com --profile store.json'],
  ],
  completion: [
    ['source <(lfs-quota completion bash)', 'in ~/.bashrc'],
    ['source <(lfs-quota completion zsh)', 'in ~/.zshrc, below compinit'],
    ['lfs-quota completion fish | source', 'in ~/.config/fish/config.fish'],
  ],
};

/** What follows the options in the help of a command. */
export function commandHelp(examples: readonly Example[]): string {
  const lines = examples.flatMap(([line, what]) => [
    ...(what === undefined ? [] : [`  # ${what}`]),
    `  ${line}`,
  ]);
  return `\n${examples.length === 1 ? 'Example' : 'Examples'}:\n${lines.join('\n')}`;
}

/** What follows the commands in the help of all, which fits a screen. */
export function mainHelp(program: string): string {
  const codes = Object.values(exitCodes).map(
    ({ code, meaning }) => `${code} ${meaning.replace(/[:,].*/, '')}`,
  );
  return `
${program} tenant create --help shows examples. LFS_QUOTA_URL and LFS_QUOTA_TOKEN
go before your login. In a clone, leave out TENANT and REPO, but not to delete.
Exit codes: ${codes.slice(0, 5).join(', ')},
${codes.slice(5).join(', ')}`;
}
