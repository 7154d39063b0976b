import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { each } from '../lambda/core/rules/lists.ts';
import { demoTenant } from '../lambda/core/rules/names.ts';
import { formatBytes } from '../lambda/core/rules/sizes.ts';
import type { NeedsOfAll } from '../lambda/core/rules/types.ts';
import { createTenant } from '../lambda/frame/access/tenants.ts';
import { createToken } from '../lambda/frame/access/tokens.ts';
import * as samples from './demo-samples.ts';
import type { Deps } from './deps.ts';
import { readIfThere, writeDurably } from './system/durable-file.ts';

/** A started stack, as people see it. */
export interface StartedStack {
  readonly url: string;
  readonly dataPath: string;
  readonly adminToken: string;
  readonly adminTokenOrigin: 'given' | 'kept' | 'created';
  /** Undefined without `createDemo`. */
  readonly demo: Demo | undefined;
}

/** With its whole path: a person pastes the lines in a repository of their own. */
const commandLine = fileURLToPath(new URL('../bin/lfs-quota.js', import.meta.url));

/**
 * What `npm start` prints before `ready`: the admin token, and lines that can be pasted into any shell.
 *
 * @param options.showsTokens false unless a person reads it: a file or a log must not keep them. It then names the files
 * that have them.
 */
export function welcomeLines(
  stack: StartedStack,
  { showsTokens }: { showsTokens: boolean },
): readonly string[] {
  const { demo } = stack;
  const admin = adminLine(stack, showsTokens);
  const page = `console ${stack.url}/ (sign in with the admin token)`;
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

function adminLine({ adminToken, adminTokenOrigin, dataPath }: StartedStack, showsTokens: boolean): string {
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
    'Once on this machine, to give Git the token:',
    '',
    '  git lfs install',
    `  git config --global credential.${url}.helper ${helperArgument(credentialFile)}`,
    '',
    'In a Git repository that uses `git lfs track` (choose a name for my-repo), then push:',
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

function commandLineLines({ url, adminTokenOrigin, dataPath }: StartedStack): readonly string[] {
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

const demoLimitBytes = 1024 ** 3;

type PutSample = (of: { tenant: string; limitBytes: number }) => Promise<void>;

type Demo =
  | { readonly kind: 'created'; readonly token: string; readonly credentialFile: string }
  /** Created at an earlier start. Its token may have been revoked since. */
  | { readonly kind: 'kept'; readonly credentialFile: string };

/**
 * Creates the tenant `demo` and a write token at the first start. The token is kept in a file for git's credential
 * helper `store`, so that no configuration of a repository has to hold it. The file also shows later starts that the
 * demo was created: a person who deletes the tenant does not get it back. So that a chart can be seen at once, it has a year
 * before its first day, which is shown as sample data.
 */
export async function ensureDemo(
  deps: NeedsOfAll<typeof samples> &
    Pick<Deps, 'ledger' | 'listing' | 'adoptedRepos' | 'queue' | 'clock' | 'settings' | 'tokens' | 'ids'>,
  place: { folder: string; apiUrl: string },
): Promise<Demo> {
  const credentialFile = join(place.folder, 'demo.git-credentials');
  const kept = await readIfThere(credentialFile);
  if (kept !== undefined) {
    const moved = kept.replace(/@127\.0\.0\.1\S*/g, `@${new URL(place.apiUrl).host}`);
    if (moved !== kept) await writeDurably(credentialFile, moved);
    return { kind: 'kept', credentialFile };
  }
  const made = await createTenant(deps, { tenant: demoTenant, plan: null, limitBytes: demoLimitBytes });
  // Somebody else's tenant may have this name: it gets nothing that it didn't store.
  if (made.kind === 'created')
    for (const put of each(samples, deps) as readonly PutSample[])
      await put({ tenant: demoTenant, limitBytes: demoLimitBytes });
  const { token } = await createToken(deps, {
    tenant: demoTenant,
    scope: 'write',
    label: 'created at the first start',
  });
  const url = new URL(place.apiUrl);
  url.username = 'any';
  url.password = token;
  await writeDurably(credentialFile, `${url.href.replace(/\/$/, '')}\n`);
  return { kind: 'created', token, credentialFile };
}
