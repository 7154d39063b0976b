import { expect, it } from 'vitest';
import { isPlainText, plainText } from '../../../../lambda/domain/plain-text.ts';

it.each([
  '\u001b[31m',
  '\u0007',
  'a\nb',
  '\u009b',
  'a\u2028b',
  'a\u2029b',
  'a\u202eb',
  'a\u2066b',
  'a\u200fb',
  '\ufeffa',
  '\ud800',
  '\ue000',
  '\u{e0041}',
])('%j is not plain, and is shown without what hides', (text) => {
  expect(isPlainText(text)).toBe(false);
  expect(isPlainText(plainText(text))).toBe(true);
  expect(isPlainText(text)).toBe(false);
});

it.each([
  '',
  'Ada Lovelace',
  'repo:acme/game:ref:refs/heads/main',
  'Zoë',
  '日本語',
  'می\u200cخواهم',
  '👩\u200d💻',
])('%j is plain', (text) => {
  expect(isPlainText(text)).toBe(true);
  expect(plainText(text)).toBe(text);
});
