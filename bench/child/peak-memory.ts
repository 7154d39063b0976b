import { readFileSync } from 'node:fs';

/**
 * Largest resident memory of this process since it began, in MB, as Linux counts it. `process.resourceUsage()` would
 * include the parent's memory: a child begins as a copy of its parent and keeps that maximum.
 */
export function peakMemoryMb(): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1];
  return Number(kilobytes) / 1024;
}
