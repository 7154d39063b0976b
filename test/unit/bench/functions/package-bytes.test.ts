import { transformSync } from 'esbuild';
import { expect, it } from 'vitest';
import { packageBytes } from '../../../../bench/functions/package-bytes.ts';

it('the bytes of a bundle belong to the packages that its source map names', () => {
  const source = 'export const words = ["one", "two"];\nexport const sum = (a, b) => a + b;\n';
  const options = { minify: true, sourcemap: 'external', format: 'esm' } as const;
  const own = transformSync(source, { ...options, sourcefile: '../lambda/words.ts' });
  const bare = own.code.trimEnd().length;
  expect(packageBytes({ code: own.code.trimEnd(), map: own.map })).toEqual([{ name: 'lambda', bytes: bare }]);
  const theirs = transformSync(source, { ...options, sourcefile: '../node_modules/@aws-sdk/core/x.js' });
  expect(packageBytes(theirs).map(({ name }) => name)).toEqual(['@aws-sdk/core']);
});
