import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { byDueIndex, byKindIndex } from '../../../../lambda/core/table/table.ts';
import { openLevel } from '../../../../local/data/database.ts';
import type { Item } from '../../../../local/table/expression.ts';
import { indexes, keyOf, primary, type Range, stored } from '../../../../local/table/items.ts';
import { LevelStore } from '../../../../local/table/level-store.ts';
import { LevelDisk } from '../../../support/level-disk.ts';
import { MemoryStore } from '../../../support/memory/memory-store.ts';
import { Random } from '../../../support/random.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();
const texts = ['A', 'A#1', 'A#2', 'A#\u{1f600}', 'A#\uffee', 'B', 'Bß', 'b', '\u{10ffff}'];
const numbers = [0, -0, 1, -1, 1.5, 10, 9, 1e6, 1_795_237_200_000, -0.25, 2 ** 53 - 1];

function randomItem(random: Random): Item {
  const kind = random.chance(0.6) && { [byKindIndex.pk]: 'kind', [byKindIndex.sk]: random.pick(texts) };
  const due = random.chance(0.6) && { [byDueIndex.pk]: 'due', [byDueIndex.sk]: random.pick(numbers) };
  const expires = random.chance(0.4) && { expiresAt: random.int(1, 9) };
  return { pk: random.pick(['p', 'q']), sk: random.pick(texts), ...kind, ...due, ...expires };
}

function randomRange(random: Random): Range {
  const index = random.pick(indexes);
  const bound = () =>
    random.chance(0.5)
      ? undefined
      : index.name === byDueIndex.name
        ? random.pick(numbers)
        : random.pick(texts);
  const partition =
    index === primary ? random.pick(['p', 'q']) : index.name === byKindIndex.name ? 'kind' : 'due';
  const { pk, sk } = randomItem(random);
  const own = { pk, sk, [index.pk]: partition, [index.sk]: bound() ?? random.pick(texts) };
  // Perhaps an item that is gone.
  const after = random.chance(0.3) && (index.name !== byDueIndex.name || typeof own[index.sk] === 'number');
  return {
    index,
    partition,
    isForward: random.chance(0.5),
    from: bound(),
    to: bound(),
    after: after ? (index === primary ? { ...own, sk: random.pick(texts) } : own) : undefined,
  };
}

it('the stores in memory and on a slow disk have the same after random changes', async () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const random = new Random(seed);
    const memory = new MemoryStore();
    const level = await LevelStore.open({
      ...new LevelDisk(() => random.int(1, 6)).options,
      cacheBytesMax: random.pick([0, 300, 1e6]),
    });
    const reads: Promise<unknown>[] = [];
    for (let step = 0; step < 150; step += 1) {
      const after = stored(randomItem(random));
      const key = keyOf(after);
      const what = `seed ${seed}, step ${step}`;
      expect(level.find(key), what).toEqual(memory.find(key));
      if (random.chance(0.7)) {
        const change = { key, before: memory.find(key), after: random.chance(0.8) ? after : undefined };
        for (const store of [memory, level]) store.write(change);
      }
      const [range, count] = [randomRange(random), random.pick([1, 2, 5, 100])];
      // Of the same moment, though the disk answers later.
      const expected = memory.read(range, count);
      reads.push(level.read(range, count).then((page) => expect(page, what).toEqual(expected)));
      const beforeS = random.int(1, 9);
      const expired = new Set(memory.expired(beforeS, 100).map(({ pk, sk }) => `${pk} ${sk}`));
      reads.push(
        level
          .expired(beforeS, 100)
          .then((keys) => expect(new Set(keys.map(({ pk, sk }) => `${pk} ${sk}`)), what).toEqual(expired)),
      );
      if (random.chance(0.3)) await nextTurn();
    }
    await Promise.all(reads);
    await level.close();
  }
});

it('a part of large items ends early, and the next goes on, also with what is not written yet', async () => {
  const path = tempFolder();
  const level = await LevelStore.open({
    open: () => openLevel(path),
    probe: async () => {},
    cacheBytesMax: 0,
  });
  const large = (number: number, text: string) => {
    const item = stored({ pk: 'p', sk: `${number}`.padStart(3, '0'), text: text.repeat(300_000) });
    return { key: keyOf(item), before: undefined, after: item };
  };
  for (let number = 0; number < 20; number += 2) level.write(large(number, 'a'));
  await level.kept([{ pk: 'p', sk: '018' }]);
  for (const isForward of [true, false]) {
    for (let number = 1; number < 20; number += 3) level.write(large(number, 'b'));
    const found: string[] = [];
    let parts = 0;
    let after: Item | undefined;
    for (let isLast = false; !isLast; parts += 1) {
      const range = { index: primary, partition: 'p', from: undefined, to: undefined, after, isForward };
      const page = await level.read(range, 100);
      for (const { sk, text } of page.items) found.push(`${sk} ${String(text)[0]}`);
      after = page.items.at(-1);
      isLast = page.isLast;
    }
    const expected = ['000 a', '001 b', '002 a', '004 b', '006 a', '007 b', '008 a', '010 b', '012 a'];
    expected.push('013 b', '014 a', '016 b', '018 a', '019 b');
    expect(found).toEqual(isForward ? expected : expected.toReversed());
    expect(parts).toBeGreaterThan(2);
  }
  await level.close();
});
