import type { CliRun } from '../../subject.ts';

const of = '--tenant acme --repo media';
const plan = (name: string, bytes: number) => ({ name, fileCount: 1, bytes, nextCursor: null });
const page = (fileCount: number, nextCursor: string | null) => ({
  prefix: 'a/',
  fileCount,
  bytes: fileCount * 1024,
  nextCursor,
});
const file = (name: string, bytes: number, storedAt: string | null) => ({ name, bytes, storedAt });
const ofFiles = { kind: 'files' };
const deleteThem = {
  line: `files delete a.txt b.txt ${of}`,
  answers: [ofFiles, plan('a.txt', 5), plan('b.txt', 1024)],
};
const ofPrefix = [page(20_000, 'c00'), page(3, null)];

/** Calls of `files list` and `files delete`. */
export const filesRuns: readonly CliRun[] = [
  {
    line: `files list --prefix a ${of}`,
    answers: [
      {
        files: [file('a\u001b[31m.txt', 5, null), file('b', 1024, '2026-11-01T05:00:00Z')],
        nextCursor: 'c00',
      },
      { files: [file('深い/1.png', 2048, '2026-11-21T04:58:00Z')], nextCursor: null },
    ],
  },
  { line: `files list --prefix a/ ${of}`, answers: [{ files: [] }] },
  { line: `files list --prefix a/ ${of}`, answers: [{ problem: 'wrong-kind' }] },
  { line: 'files list --repo media' },
  { line: 'files list --prefix a/ --tenant acme' },
  deleteThem,
  { ...deleteThem, says: ['y'] },
  { ...deleteThem, says: ['no'] },
  { line: `${deleteThem.line} --dry-run --json`, answers: deleteThem.answers },
  {
    line: `files delete a.txt b.txt ${of} --yes`,
    answers: [ofFiles, plan('a.txt', 5), { problem: 'file-not-found' }],
  },
  { line: `files delete a.txt ${of} --yes`, answers: [ofFiles, { problem: 'deletions-full' }] },
  { line: `files delete a.txt ${of} --yes`, answers: [{ problem: 'scope-too-small' }, plan('a.txt', 5)] },
  { line: `files delete a.txt ${of} --yes`, answers: [{}] },
  { line: `files delete --prefix a/ ${of}`, answers: [ofFiles, ...ofPrefix, ...ofPrefix], says: ['y'] },
  { line: `files delete ${of} --yes` },
  { line: `files delete a.txt --prefix a/ ${of} --yes` },
  { line: 'files delete a.txt --repo media --yes' },
];
