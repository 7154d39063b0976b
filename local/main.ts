import { readFileSync } from 'node:fs';
import type { EmbeddedStack } from './start.ts';
import { StartupError } from './system/durable-file.ts';
import { createTerminalLog, type Flags, readAdoptedRepos, readFlags } from './terminal.ts';

export const usage = `Usage: npm start -- [--port PORT] [--data DIR] [--issuer KIND,ISSUER,JWKS] [--git-host ID,KIND,URL[,APP]]
                    [--adopt FILE] [--gc-watch MINUTES] [--loopback-webhooks]

  --port PORT  port on 127.0.0.1 (default 8787; 0: any free port)
  --data DIR   data folder (default ./.lfs-quota)
  --issuer KIND,ISSUER,JWKS
               issuer of CI identity tokens: github or gitlab, the claim 'iss', and the URL of its keys; repeatable
               (default: GitHub Actions and gitlab.com)
  --adopt FILE repos in another LFS server's layout, as JSON (docs/migrate.md)
  --git-host ID,KIND,URL[,CLIENT_ID,SECRET_FILE]
               git host with users who can log in: a name, github, gitlab or gitea, and its URL, such as
               github,github,https://api.github.com; repeatable (docs/team-admins.md). With the client ID of an app
               there, and a file with its secret, users can sign in to the console (docs/deploy.md)
  --loopback-webhooks
               allow webhooks to this machine, such as http://127.0.0.1:9000/
  --gc-watch MINUTES
               shortest time from "gc open" to "gc run" (default 1440)

Environment:
  LFS_QUOTA_ADMIN_TOKEN  admin token (default: created, stored in DIR/admin-token, shown on a terminal)
  LFS_QUOTA_LOG          log format on stderr: 'text' (default) or 'json'
`;

const intervalMs = 500;

/**
 * Calls back once when npm has ended. `npm start` runs its script through a shell. A signal that ends npm or that
 * shell does not reach this process, which would keep its ports and its data folder. Without npm nothing is watched,
 * so a daemon may outlive its parent.
 */
function onNpmGone(callback: () => void): void {
  if (process.env['npm_lifecycle_event'] !== 'start') return;
  const shell = process.ppid;
  const npm = parentOf(shell);
  const timer = setInterval(() => {
    if (process.ppid === shell && parentOf(shell) === npm) return;
    clearInterval(timer);
    callback();
  }, intervalMs);
  timer.unref();
}

/** The parent of another process; undefined if the system does not provide it (other than Linux). */
function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}

// The data folder holds the objects and hashes of the tokens. Other users of the machine must not read new files.
process.umask(0o077);

// The SDK would warn about Node 20 at every start; package.json says which versions are supported.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true';

const log = createTerminalLog({
  format: process.env['LFS_QUOTA_LOG'] === 'json' ? 'json' : 'text',
  write: (line) => process.stderr.write(line),
  now: () => new Date(),
});

const say = (line: string) => void process.stdout.write(`${line}\n`);

// A reader of the output that ends, such as `| head`, must not end the service.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

function fail(message: string, exitCode: number): never {
  process.stderr.write(`lfs-quota: ${message}\n`);
  process.exit(exitCode);
}

/** The first signal stops gracefully. A later one ends at once, which is safe: data is durable at any moment. */
function stopOnSignals(starting: Promise<EmbeddedStack>): void {
  let stoppingSinceMs: number | undefined;
  const stop = () => {
    if (stoppingSinceMs !== undefined) return;
    stoppingSinceMs = performance.now();
    void stopGracefully(starting);
  };
  const onSignal = () => {
    // One Ctrl-C may arrive twice: from the terminal and from npm.
    if (stoppingSinceMs !== undefined && performance.now() - stoppingSinceMs > 1000) process.exit(130);
    stop();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  onNpmGone(stop);
}

async function stopGracefully(starting: Promise<EmbeddedStack>): Promise<never> {
  say('stopping …');
  try {
    await (await starting).close();
  } catch (error) {
    log.error('stopped with an error', { error });
    process.exit(1);
  }
  say('stopped');
  process.exit(0);
}

const flags = readFlags(process.argv.slice(2));
switch (flags.kind) {
  case 'help':
    process.stdout.write(usage);
    break;
  case 'wrong':
    fail(`${flags.message}\n\n${usage}`, 2);
    break;
  case 'start':
    await serve(flags);
}

function adoptedReposOf(file: string) {
  try {
    return readAdoptedRepos(file);
  } catch (error) {
    if (error instanceof StartupError) fail(`${error.message}\nSee npm start -- --help`, 1);
    throw error;
  }
}

async function serve(started: Extract<Flags, { kind: 'start' }>): Promise<void> {
  const { port, dataDir, issuers, adoptFile, gitHosts, settings, allowsLoopbackWebhooks } = started;
  const adoptedRepos = adoptFile === undefined ? [] : adoptedReposOf(adoptFile);
  process.on('uncaughtException', (error) => {
    log.error('stopped by an unexpected error; stored data is safe, start it again', {
      error,
    });
    process.exit(1);
  });
  // Imported only here: the SDKs take a second to load, and wrong flags do not need them.
  const [{ startEmbeddedStack }, { welcomeLines }] = await Promise.all([
    import('./start.ts'),
    import('./demo.ts'),
  ]);
  const adminToken = process.env['LFS_QUOTA_ADMIN_TOKEN'];
  const starting = startEmbeddedStack({
    port,
    dataDir,
    adminToken,
    issuers,
    adoptedRepos,
    gitHosts,
    settings,
    allowsLoopbackWebhooks,
    log,
    onProgress: say,
  });
  stopOnSignals(starting);
  try {
    const stack = await starting;
    const showsTokens = process.stdout.isTTY === true;
    for (const line of welcomeLines(stack, { showsTokens })) say(line);
    say(`ready ${stack.url}`);
  } catch (error) {
    if (error instanceof StartupError) fail(`${error.message}\nSee npm start -- --help`, 1);
    throw error;
  }
}
