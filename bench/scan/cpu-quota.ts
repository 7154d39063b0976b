import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

/** Keeps processes to a share of one core. */
export interface CpuQuota {
  /** How it is done, for the report. */
  readonly means: string;
  /** Begins with one process. @returns what ends it. */
  hold(pid: number): () => void;
  close(): void;
}

/**
 * A quota by control group where that is allowed, otherwise by stopping the process when it used up its share.
 * @param periodMs the share is of each such time: what fits into one period's share is not slowed at all.
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

/** The substitute: looks every millisecond, and stops the process until the period ends once it had its share. */
function stopQuota(share: number, periodMs: number): CpuQuota {
  return {
    means: `SIGSTOP after ${share * periodMs} ms of CPU time each ${periodMs} ms (no control group is allowed here)`,
    hold: (pid) => {
      let usedMs = cpuMsOf(pid);
      let ticks = 0;
      let isStopped = false;
      const timer = setInterval(() => {
        ticks += 1;
        if (ticks % periodMs === 0) {
          usedMs = cpuMsOf(pid);
          if (isStopped) process.kill(pid, 'SIGCONT');
          isStopped = false;
        } else if (!isStopped && cpuMsOf(pid) - usedMs >= share * periodMs) {
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

/** CPU time of all threads of a process, as Linux counts it. */
function cpuMsOf(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const ns = tasks.map((task) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'latin1').split(' ')[0]),
  );
  return ns.reduce((sum, value) => sum + value, 0) / 1e6;
}
