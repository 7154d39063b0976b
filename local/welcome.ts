import { fileURLToPath } from 'node:url';
import { formatBytes } from '../lambda/domain/bytes.ts';
import { type Demo, demoLimitBytes, demoTenant } from './demo-tenant.ts';
import type { EmbeddedStack } from './start.ts';

/** With its whole path: a person pastes the lines in a repository of their own. */
const commandLine = fileURLToPath(new URL('../bin/lfs-quota.js', import.meta.url));

/**
 * What `npm start` prints before `ready`: the admin token, and lines that can be pasted into any shell.
 *
 * @param options.showsTokens false unless a person reads it: a file or a log must not keep them. It then names the files
 * that have them.
 */
export function welcomeLines(
  stack: EmbeddedStack,
  { showsTokens }: { showsTokens: boolean },
): readonly string[] {
  const { demo } = stack;
  const admin = adminLine(stack, showsTokens);
  const page = `console ${stack.url}/ (sign in with a token)`;
  if (demo === undefined) return [admin, page, ''];
  return [
    admin,
    page,
    '',
    demoLine(demo, showsTokens),
    '',
    ...gitLines({ url: stack.url, credentialFile: demo.credentialFile }),
    '',
    ...commandLineLines(stack),
    '',
  ];
}

/** A kept tenant can have another limit by now, so only a new one's is shown. */
function demoLine(demo: Demo, showsTokens: boolean): string {
  if (demo.kind === 'kept')
    return `The tenant '${demoTenant}' is ready. Its write token is in ${demo.credentialFile}`;
  const token = showsTokens ? demo.token : `in ${demo.credentialFile}`;
  return `The tenant '${demoTenant}' (limit ${formatBytes(demoLimitBytes)}) is ready. Its write token is ${token}`;
}

function adminLine({ adminToken, adminTokenOrigin, dataPath }: EmbeddedStack, showsTokens: boolean): string {
  if (adminTokenOrigin === 'given') return 'admin token from LFS_QUOTA_ADMIN_TOKEN';
  if (!showsTokens) return `admin token in ${dataPath}/admin-token`;
  return `admin token ${adminToken} (kept in ${dataPath}/admin-token)`;
}

/**
 * `lfs.url` is committed and the credential helper is global, so that a fresh clone has both before git-lfs
 * downloads: a clone without them fails at its checkout.
 */
function gitLines({ url, credentialFile }: { url: string; credentialFile: string }): readonly string[] {
  return [
    'Once on this machine, so that git finds the token:',
    '',
    '  git lfs install',
    `  git config --global credential.${url}.helper ${helperArgument(credentialFile)}`,
    '',
    'In a git repository whose large files are tracked with `git lfs track` (choose a name for my-repo), then push:',
    '',
    `  git config -f .lfsconfig lfs.url ${url}/${demoTenant}/my-repo/info/lfs`,
    '  git add .lfsconfig',
    `  git commit -m 'Store large files in lfs-quota' .lfsconfig`,
    '',
    'Any clone on this machine then has its large files (REPOSITORY is a URL or path):',
    '',
    '  git clone REPOSITORY',
  ];
}

function commandLineLines({ url, adminTokenOrigin, dataPath }: EmbeddedStack): readonly string[] {
  const isGiven = adminTokenOrigin === 'given';
  const where = isGiven ? 'in a second terminal, with LFS_QUOTA_ADMIN_TOKEN set' : 'in a second terminal';
  const token = isGiven ? '"$LFS_QUOTA_ADMIN_TOKEN"' : `"$(cat ${shellQuoted(`${dataPath}/admin-token`)})"`;
  return [
    `To see what is stored, and to create another token, ${where}:`,
    '',
    `  export LFS_QUOTA_URL=${url} LFS_QUOTA_TOKEN=${token}`,
    `  ${shellQuoted(commandLine)} usage ${demoTenant}`,
    `  ${shellQuoted(commandLine)} token create ${demoTenant} --scope write`,
  ];
}

/** Quoted twice: this shell reads the argument, and git hands its value to another shell. */
function helperArgument(credentialFile: string): string {
  return shellQuoted(`store --file=${shellQuoted(credentialFile)}`);
}

/** One word for a POSIX shell, quoted only if it needs to be. */
export function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
