import { expect, it } from 'vitest';
import { importsOf, reachedFrom, removeSubjects, subjectsWith } from './remove-subject.ts';

const withoutLocks = (files: Readonly<Record<string, string>>) =>
  removeSubjects(new Map(Object.entries(files)), ['locks']);

const own = {
  'lambda/subjects/locks/locks.ts': 'export const takeLock = 1;\n',
  'lambda/functions/locks/lfs-locks.ts': "export { takeLock } from '../../subjects/locks/locks.ts';\n",
};

it('deletes every folder of the name, and no other', () => {
  const files = { ...own, 'lambda/locks.ts': '', 'lambda/padlocks/a.ts': '', 'docs/locks/a.md': '' };
  expect(withoutLocks(files).deleted).toEqual(Object.keys(own));
});

const loaded = (file: string) => `import(${`'${file}'`})`;
const list = (text: string) => withoutLocks({ ...own, 'lambda/list.ts': text });

it.each([
  [
    "import { takeLock } from './subjects/locks/locks.ts';\nconst all = {\n  ...takeLock,\n};\n",
    'const all = {\n};\n',
  ],
  [
    "import {\n  takeLock as t,\n} from './subjects/locks/locks.ts';\nf(\n  t(deps),\n  u(deps),\n);\n",
    'f(\n  u(deps),\n);\n',
  ],
  [
    "import type { L } from './subjects/locks/locks.ts';\ntype A = Needs<typeof B> &\n  Needs<typeof L> &\n  C;\n",
    'type A = Needs<typeof B> &\n  C;\n',
  ],
  [`const views = {\n  locks: () => ${loaded('./subjects/locks/locks.ts')},\n};\n`, 'const views = {\n};\n'],
])('removes imports from it, and the entries that they leave: %j', (text, rest) => {
  const { changed, removed } = list(text);
  expect(changed.get('lambda/list.ts')).toBe(rest);
  expect(removed.length).toBe(text.split('\n').length - rest.split('\n').length);
});

it.each([
  'const a = takeLock();',
  'const a = f(takeLock, other);',
  'f(other, takeLock),',
  'takeLocks,',
  'takeLock(function () {',
])('leaves what more than an entry stands in: %s', (line) => {
  const { removed } = list(`import { takeLock } from './subjects/locks/locks.ts';\n${line}\n`);
  expect(removed.map((each) => each.line)).toEqual([1]);
});

it('follows a list that another list has', () => {
  const { changed } = withoutLocks({
    ...own,
    'lambda/stores.ts':
      "export { takeLock as locks } from './subjects/locks/locks.ts';\nexport const tokens = 1;\n",
    'lambda/a.ts':
      "import * as stores from './stores.ts';\nconst a = {\n  locks: stores.locks(t),\n  b: stores.tokens,\n};\n",
    'lambda/b.ts': "import {\n  locks,\n  tokens,\n} from './stores.ts';\n",
  });
  expect(Object.fromEntries(changed)).toEqual({
    'lambda/stores.ts': 'export const tokens = 1;\n',
    'lambda/a.ts': "import * as stores from './stores.ts';\nconst a = {\n  b: stores.tokens,\n};\n",
    'lambda/b.ts': "import {\n  tokens,\n} from './stores.ts';\n",
  });
});

it('takes along what imports it', () => {
  const importing = (name: string) => `import type { A } from '../${name}/a.ts';\n`;
  const files = new Map([
    ['lambda/subjects/hosts/a.ts', ''],
    ['lambda/subjects/sign-in/a.ts', importing('hosts')],
    ['lambda/subjects/sessions/a.ts', importing('sign-in')],
    ['lambda/subjects/locks/a.ts', ''],
    // What is of both comes off with either.
    ['lambda/subjects/locks/hosts/a.ts', "import type { A } from '../../hosts/a.ts';\n"],
  ]);
  expect(subjectsWith(files, ['hosts'])).toEqual(['hosts', 'sign-in', 'sessions']);
  expect(subjectsWith(files, ['sign-in'])).toEqual(['sign-in', 'sessions']);
  expect(subjectsWith(files, ['locks'])).toEqual(['locks']);
});

it('knows what a file imports, and what imports it', () => {
  const imports = importsOf(
    new Map([
      ['test/a.test.ts', "import { b } from './b.ts';\n"],
      ['test/b.ts', `const c = () => ${`import('${'../lambda/c.ts'}')`};\n`],
      ['test/d.ts', "export type { C } from '../lambda/c.ts';\n"],
      ['lambda/c.ts', 'export type C = 1;\n'],
      ['test/e.txt', "import './b.ts';"],
    ]),
  );
  expect([...reachedFrom(imports, ['test/a.test.ts'])]).toEqual([
    'test/a.test.ts',
    'test/b.ts',
    'lambda/c.ts',
  ]);
  expect([...reachedFrom(imports, ['lambda/c.ts'], { up: true })].sort()).toEqual([
    'lambda/c.ts',
    'test/a.test.ts',
    'test/b.ts',
    'test/d.ts',
  ]);
});
