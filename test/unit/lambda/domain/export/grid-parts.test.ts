import { expect, it } from 'vitest';
import { entrySizesOf } from '../../../../../lambda/domain/export/entry-sizes.ts';
import { gridParts } from '../../../../../lambda/domain/export/grid-parts.ts';
import { Layout } from '../../../../../lambda/domain/export/layout.ts';
import { tarFormat } from '../../../../../lambda/domain/export/tar-format.ts';
import { contentStore, subject } from '../../../../support/export-archive.ts';

const format = tarFormat({ modifiedAtMs: 0 });
const { objects } = contentStore([Buffer.alloc(1000)]);
const sizes = entrySizesOf(objects, format);
const layout = new Layout(
  { objects, sizes, format, subject, volume: { number: 1, of: 1 } },
  () => new Uint32Array(1),
);
const { dataStart } = layout.boundsAt(2);
const kindsIn = (startByte: number, endByte: number, cellBytes: number) =>
  [...gridParts(layout, { startByte, endByte }, cellBytes)].map((part) =>
    part.kind === 'copy' ? part.source : part.kind,
  );

it('copies the cells that lie in an object', () => {
  expect(kindsIn(dataStart - 200, dataStart + 1100, 400)).toEqual([
    'upload',
    { startByte: 200, endByte: 600 },
    { startByte: 600, endByte: 1000 },
    'upload',
  ]);
});

it('copies an object of one cell whole, but no range of it', () => {
  expect(kindsIn(dataStart, dataStart + 1000, 1000)).toEqual([undefined]);
  expect(kindsIn(dataStart, dataStart + 900, 1000)).toEqual(['upload']);
  expect(kindsIn(dataStart, dataStart + 900, 999)).toEqual([{ startByte: 0, endByte: 900 }]);
});
