import { readFileSync } from 'node:fs';

const intervalMs = 500;

/**
 * Calls back once when npm has ended. `npm start` runs its script through a shell. A signal that ends npm or that
 * shell does not reach this process, which would keep its ports and its data folder. Without npm nothing is watched,
 * so a daemon may outlive its parent.
 */
export function onNpmGone(callback: () => void): void {
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
