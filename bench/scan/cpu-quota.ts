import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

/** Keeps processes to a share of one core. */
export interface CpuQuota {
  /** How it works on this machine, for the report. */
  readonly means: string;
  /** Holds one process to the quota. @returns a function that releases it. */
  hold(pid: number): () => void;
  close(): void;
}

/**
 * Uses a control group if that is allowed. Otherwise it stops the process once its share is used up.
 * @param periodMs the share is given anew in each period: work that fits into it is not slowed.
 */
export function createCpuQuota(share: number, periodMs = 100): CpuQuota {
  for (const version of [2, 1] as const) {
    const quota = groupQuota(version, share, periodMs);
    if (quota) return quota;
  }
  return stopQuota(share, periodMs);
}

function groupQuota(version: 1 | 2, share: number, periodMs: number): CpuQuota | undefined {
  const root = version === 2 ? '/sys/fs/cgroup' : '/sys/fs/cgroup/cpu';
  const group = `${root}/lfs-quota-bench-${process.pid}`;
  const quotaUs = Math.round(share * periodMs * 1000);
  try {
    if (version === 2 && !existsSync(`${root}/cgroup.subtree_control`)) return undefined;
    mkdirSync(group);
    if (version === 2) writeFileSync(`${group}/cpu.max`, `${quotaUs} ${periodMs * 1000}`);
    else {
      writeFileSync(`${group}/cpu.cfs_period_us`, String(periodMs * 1000));
      writeFileSync(`${group}/cpu.cfs_quota_us`, String(quotaUs));
    }
  } catch {
    if (existsSync(group)) rmdirSync(group);
    return undefined;
  }
  const move = (target: string, pid: number) => writeFileSync(`${target}/cgroup.procs`, String(pid));
  return {
    means: `cgroup v${version}, ${quotaUs} µs each ${periodMs} ms`,
    hold: (pid) => {
      move(group, pid);
      return () => move(root, pid);
    },
    close: () => rmdirSync(group),
  };
}

/** The substitute: looks every millisecond, and stops a process that used up its share until the period ends. */
function stopQuota(share: number, periodMs: number): CpuQuota {
  return {
    means: `SIGSTOP after ${share * periodMs} ms of CPU time each ${periodMs} ms (no control group is allowed here)`,
    hold: (pid) => {
      let usedMs = cpuMsOf(pid) ?? 0;
      let ticks = 0;
      let isStopped = false;
      const timer = setInterval(() => {
        ticks += 1;
        const nowMs = cpuMsOf(pid);
        if (nowMs === undefined) {
          if (!existsSync(`/proc/${pid}`)) clearInterval(timer);
        } else if (ticks % periodMs === 0) {
          usedMs = nowMs;
          if (isStopped) process.kill(pid, 'SIGCONT');
          isStopped = false;
        } else if (!isStopped && nowMs - usedMs >= share * periodMs) {
          process.kill(pid, 'SIGSTOP');
          isStopped = true;
        }
      }, 1);
      return () => {
        clearInterval(timer);
        process.kill(pid, 'SIGCONT');
      };
    },
    close: () => {},
  };
}

/** CPU time of all threads of a process, as Linux counts it. Undefined if a thread, or the process, just ended. */
function cpuMsOf(pid: number): number | undefined {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const ns = tasks.map((task) =>
      Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'latin1').split(' ')[0]),
    );
    return ns.reduce((sum, value) => sum + value, 0) / 1e6;
  } catch {
    return undefined;
  }
}
