/** Lines that somebody pastes who has nothing but git and git-lfs: what a new user of a tenant needs for a first push. */

/** Lets git keep what it asks for, for this server alone, and clones. @param origin of the server. */
export const cloneLines = (origin: string) =>
  [
    `git config --global --replace-all credential.${origin}.helper store`,
    'git lfs install',
    'git clone YOUR-REPOSITORY-URL',
  ].join('\n');

/** What is new or changed of a kind of files becomes objects. */
export const trackLines = [
  'git lfs track "*.psd"',
  'git add .',
  'git commit -m "Large files to git-lfs"',
  'git push origin HEAD',
].join('\n');

/**
 * In a clone without an `.lfsconfig`: says where large files go, and which ones are large, and pushes.
 *
 * @param repo Default: the name of the clone's folder, which the shell fills in.
 */
export const firstPushLines = (origin: string, tenant: string, repo = '$(basename "$PWD")') =>
  `git config -f .lfsconfig lfs.url "${origin}/${tenant}/${repo}/info/lfs"\n${trackLines}`;
