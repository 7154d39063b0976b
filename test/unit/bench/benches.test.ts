import { expect, it } from 'vitest';
import { benches, helpOf } from '../../../bench/benches.ts';

it.each(Object.entries(benches))('the help of %s has what it measures and its options', (_, bench) => {
  expect(helpOf(bench)).toMatch(/^[A-Z].*\n(.*\n)*\nOptions: `--[a-z-]+=/);
  expect(helpOf(bench)).not.toMatch(/^ *\*/m);
});
