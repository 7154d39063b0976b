/** Lines that somebody pastes who has nothing but git and git-lfs: what a new user of a tenant needs for a first push. */

/** Once per machine: lets git keep what it asks for, for this server alone. @param origin of the server. */
export const storeLines = (origin: string) =>
  `git config --global --replace-all credential.${origin}.helper store\ngit lfs install`;

/** What is new or changed of a kind of files becomes objects, and is pushed. */
export const trackLines = [
  'git lfs track "*.psd"',
  'git add .',
  'git commit -m "Large files to git-lfs"',
  'git push origin HEAD',
].join('\n');

/** In a clone without an `.lfsconfig`: says where large files go. */
export const urlLine = (origin: string, tenant: string, repo = 'REPO') =>
  `git config -f .lfsconfig lfs.url ${origin}/${tenant}/${repo}/info/lfs`;
