import { describe, expect, it } from 'vitest';
import { cpuMsOfTree, parseStat, sumOfTree } from '../../../../bench/push/process-cpu.ts';

/** utime 250, stime 50, cutime 7, cstime 3, in ticks of 10 ms. */
const stat = (name: string) =>
  `4711 (${name}) S 42 4711 4711 0 -1 4194560 1000 0 0 0 250 50 7 3 20 0 4 0 12345 1000000 500 18446744073709551615`;

describe('a line of /proc/PID/stat', () => {
  it.each(['node', 'a name (with) parentheses', 'two words'])('of %j', (name) => {
    expect(parseStat(stat(name), 0)).toEqual({ pid: 4711, parentPid: 42, cpuMs: 3100 });
  });

  it('is refined by the times of the threads, unless some have ended', () => {
    expect(parseStat(stat('node'), 3004.5)?.cpuMs).toBe(3104.5);
    expect(parseStat(stat('node'), 1200)?.cpuMs).toBe(3100);
  });

  it.each(['', '4711', '4711 (node) S 42'])('is not %j', (line) => {
    expect(parseStat(line, 0)).toBeUndefined();
  });
});

describe('the CPU time of a server', () => {
  it('includes its children and theirs, and nobody else’s', () => {
    const processes = [
      { pid: 1, parentPid: 0, cpuMs: 1 },
      { pid: 2, parentPid: 1, cpuMs: 10 },
      { pid: 3, parentPid: 2, cpuMs: 100 },
      { pid: 4, parentPid: 0, cpuMs: 1000 },
    ];
    expect(sumOfTree(1, processes)).toBe(111);
    expect(sumOfTree(2, processes)).toBe(110);
    expect(sumOfTree(5, processes)).toBe(0);
  });

  it.runIf(process.platform === 'linux')('is read from this machine', () => {
    expect(cpuMsOfTree(process.pid)).toBeGreaterThan(0);
  });
});
