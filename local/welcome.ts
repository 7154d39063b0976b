import { formatBytes } from '../lambda/domain/bytes.ts';
import { demoLimitBytes, demoTenant } from './demo-tenant.ts';
import type { EmbeddedStack } from './start.ts';

/** What a person needs to go on, before the line that says `ready`. */
export function welcomeLines(stack: EmbeddedStack): readonly string[] {
  return [...adminLines(stack), ...demoLines(stack), ''];
}

function adminLines({ adminToken, adminTokenOrigin, dataPath }: EmbeddedStack): readonly string[] {
  if (adminTokenOrigin === 'given') return ['admin token from LFS_QUOTA_ADMIN_TOKEN'];
  return [`admin token ${adminToken} (kept in ${dataPath}/admin-token)`];
}

function demoLines(stack: EmbeddedStack): readonly string[] {
  const { demo, url } = stack;
  if (demo === undefined) return [];
  const first =
    demo.kind === 'created'
      ? [
          `Created tenant '${demoTenant}' (limit ${formatBytes(demoLimitBytes)}) and a token that may write: ${demo.token}`,
          `To push to it, paste this in a git repository that uses git-lfs (any name for my-repo):`,
        ]
      : [`Tenant '${demoTenant}' is from an earlier start. To push to it, paste in a git repository:`];
  return [
    '',
    ...first,
    '',
    `  git config lfs.url ${url}/${demoTenant}/my-repo/info/lfs`,
    `  git config credential.${url}.helper ${helperArgument(demo.credentialFile)}`,
    '',
    demo.kind === 'created'
      ? 'What it takes up, and a new token:'
      : 'What it takes up, and a new token (the old one is shown once only):',
    '',
    `  export ${environment(stack)}`,
    `  npm run -s cli -- usage ${demoTenant}`,
    `  npm run -s cli -- token create ${demoTenant} --scope write`,
  ];
}

function environment({ url, adminTokenOrigin, dataPath }: EmbeddedStack): string {
  const token =
    adminTokenOrigin === 'given'
      ? '"$LFS_QUOTA_ADMIN_TOKEN"'
      : `"$(cat ${shellQuoted(`${dataPath}/admin-token`)})"`;
  return `LFS_QUOTA_URL=${url} LFS_QUOTA_TOKEN=${token}`;
}

/** git hands the helper's line to a shell: the path is quoted for that one, and the whole for this one. */
function helperArgument(credentialFile: string): string {
  return shellQuoted(`store --file=${shellQuoted(credentialFile)}`);
}

/** As one word for a POSIX shell; plain words stay as they are. */
export function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
