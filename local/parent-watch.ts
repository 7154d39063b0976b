import { readFileSync } from 'node:fs';

const intervalMs = 500;

/**
 * Calls back once when the process that started this one is gone. `npm start` runs its script through a
 * shell: a signal that ends npm or that shell never reaches this process, which would go on holding its
 * ports and its data folder. Without npm nothing is watched, so a daemon may outlive its parent.
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

/** The parent of another process where the system tells (Linux). */
function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}
