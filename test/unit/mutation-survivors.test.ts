import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

const script = path.resolve('.ci/mutation-report.mjs');

/** What the report says, in a project that has only these files. */
function reportOf(entry: { in?: string; original: string }, source: string, survivorAt?: number) {
  const root = mkdtempSync(path.join(tmpdir(), 'survivors-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(path.join(root, '.ci'));
  const explained = [{ file: 'a.ts', ...entry, replacement: 'true', why: 'Held elsewhere.' }];
  writeFileSync(path.join(root, '.ci/mutation-survivors.json'), JSON.stringify(explained));
  writeFileSync(path.join(root, 'a.ts'), source);
  const position = (offset: number) => {
    const lines = source.slice(0, offset).split('\n');
    return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
  };
  const survivor = (start: number) => ({
    status: 'Survived',
    replacement: 'true',
    location: { start: position(start), end: position(start + entry.original.length) },
  });
  const mutants = survivorAt === undefined ? [] : [survivor(survivorAt)];
  writeFileSync(path.join(root, 'report.json'), JSON.stringify({ files: { 'a.ts': { source, mutants } } }));
  return spawnSync(process.execPath, [script, 'report.json'], { cwd: root, encoding: 'utf8' });
}

it('each explanation of a survivor matches exactly one place in the code', () => {
  const { stdout, status } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
  expect(status, stdout).toBe(0);
});

const source = 'if (x > 1)\n  return a;\nif (x > 1)\n  return b;\n';

it('an explanation of code that is gone, or of several places, fails', () => {
  expect(reportOf({ original: 'x > 2' }, source)).toMatchObject({ status: 1 });
  expect(reportOf({ original: 'x > 1' }, source)).toMatchObject({ status: 1 });
  expect(reportOf({ in: 'x > 1) return b', original: 'x > 1' }, source)).toMatchObject({ status: 0 });
});

it('an explanation of one place explains no survivor in another', () => {
  const entry = { in: 'x > 1) return b', original: 'x > 1' };
  expect(reportOf(entry, source, source.lastIndexOf('x > 1'))).toMatchObject({ status: 0 });
  const other = reportOf(entry, source, source.indexOf('x > 1'));
  expect(other.status).toBe(1);
  expect(other.stdout).toContain('a.ts:1  x > 1  →  true');
});
