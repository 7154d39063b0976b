import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { shellWords } from '../../../cli/render.ts';

it('a command that is shown is read by a shell as its words, whatever is in them', () => {
  const words = [
    'plain-1.2/x:y@z=%,+_',
    '',
    'two words',
    "it's o'clock, isn't it?",
    "'",
    "''",
    '"$HOME" `id` $(id) \\ ! # ~ * ? [a] {b} ; & | < > ^',
    'line\nbreak',
    'über 日本',
    '-n',
  ];
  const text = execFileSync('sh', ['-c', `printf '%s\\0' ${shellWords(words)}`], { encoding: 'utf8' });
  expect(text.split('\0').slice(0, -1)).toEqual(words);
});
