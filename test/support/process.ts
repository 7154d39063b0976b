import { spawn } from 'node:child_process';

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Groups that run now. They end with this process: what a terminal sends to its own group does not reach them. */
export const runningGroups = new Set<number>();
process.on('exit', () => {
  for (const pid of runningGroups) signalGroup(pid, 'SIGKILL');
});

/**
 * Runs a command to its end, in a separate process group.
 *
 * @throws if it takes longer than `timeoutMs`. The whole group is killed then.
 */
export function run(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: Record<string, string>; timeoutMs: number },
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { pid } = child;
    if (pid !== undefined) runningGroups.add(pid);
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    const timer = setTimeout(() => {
      signalGroup(child.pid, 'SIGKILL');
      reject(
        new Error(`${command} ${args.join(' ')} did not end in ${options.timeoutMs} ms:\n${out}\n${err}`),
      );
    }, options.timeoutMs);
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(timer);
      if (pid !== undefined) runningGroups.delete(pid);
      resolve({ code, out, err });
    });
  });
}

/** Signals the process group of a child. Does nothing if it has ended already. */
export function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** The environment variables that every program needs, and no others, so that the developer's git settings are left out. */
export function plainEnvironment(): Record<string, string> {
  const kept = ['PATH', 'TMPDIR', 'LANG', 'LC_ALL', 'npm_config_cache'];
  return Object.fromEntries(kept.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/** The environment of a git that is a person of its own. Nobody answers its questions. */
export function gitEnvironment(home: string): Record<string, string> {
  return {
    ...plainEnvironment(),
    HOME: home,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    // A proxy of this machine must not stand between git and a server on loopback.
    NO_PROXY: '127.0.0.1',
  };
}
