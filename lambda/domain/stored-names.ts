import { compareKeys } from './key-order.ts';
import { isOid } from './names.ts';

/**
 * How servers of Git LFS name an object in their bucket: its oid, or its oid in folders of its first four digits.
 * Slashes stand at fixed places, so the order of such names is the order of the oids, and a range of oids is a range
 * of names.
 */
export const nameLayouts = ['oid', 'ab/cd/rest', 'ab/cd/oid'] as const;
export type NameLayout = (typeof nameLayouts)[number];

/** What every name of a layout looks like. `h` stands for a hex digit, any other character for itself. */
const shapes: Readonly<Record<NameLayout, string>> = {
  oid: 'h'.repeat(64),
  'ab/cd/rest': `hh/hh/${'h'.repeat(60)}`,
  'ab/cd/oid': `hh/hh/${'h'.repeat(64)}`,
};

/** After every character that a key of ASCII has. */
const afterAll = '~';

/** The name under which an object is stored. */
export function storedNameOf(layout: NameLayout, oid: string): string {
  if (layout === 'oid') return oid;
  return `${oid.slice(0, 2)}/${oid.slice(2, 4)}/${layout === 'ab/cd/rest' ? oid.slice(4) : oid}`;
}

/** The oid of the object with this name. undefined: no object of the layout has it. */
export function oidOfStoredName(layout: NameLayout, name: string): string | undefined {
  const oid = oidIn(layout, name);
  return isOid(oid) && storedNameOf(layout, oid) === name ? oid : undefined;
}

function oidIn(layout: NameLayout, name: string): string {
  if (layout === 'oid') return name;
  return layout === 'ab/cd/rest' ? name.slice(0, 2) + name.slice(3, 5) + name.slice(6) : name.slice(6);
}

/**
 * What the names of exactly those objects begin with whose oids begin with some text.
 *
 * @returns undefined if no oid begins so.
 */
export function storedBeginning(layout: NameLayout, beginning: string): string | undefined {
  if (!/^[0-9a-f]{0,64}$/.test(beginning)) return undefined;
  if (layout === 'oid') return beginning;
  const [first, second, rest] = [beginning.slice(0, 2), beginning.slice(2, 4), beginning.slice(4)];
  if (first.length < 2) return first;
  if (second.length < 2) return `${first}/${second}`;
  return `${first}/${second}/${layout === 'ab/cd/rest' ? rest : beginning}`;
}

/**
 * Where to go on in the bucket after a text: an oid comes after the text if, and only if, its name comes after what this
 * returns.
 */
export function storedAfter(layout: NameLayout, text: string): string {
  if (layout === 'oid') return text;
  // By code points: a slash between the two halves of one would make a text that has no UTF-8.
  const points = [...text];
  const part = (from: number, to?: number) => points.slice(from, to).join('');
  const first = part(0, 2);
  if (points.length <= 2) return first;
  if (points.length <= 4) return `${first}/${part(2)}`;
  return `${first}/${part(2, 4)}/${layout === 'ab/cd/rest' ? part(4) : text}`;
}

/**
 * How far a listing may skip from a name that is no object's: no object's name lies between the two. So it costs one
 * request, and not one for each thousand keys, to pass a folder of something else.
 */
export function endOfGap(layout: NameLayout, name: string): string {
  const shape = shapes[layout];
  const differsAt = [...shape].findIndex((place, at) => !fits(place, name.charAt(at)));
  const same = differsAt === -1 ? shape.length : differsAt;
  // Nothing is between the name and the names that go on as it does.
  if (same === name.length) return name;
  const end = name.slice(0, same) + gapBehind(shape.charAt(same), name.charAt(same));
  return compareKeys(end, name) > 0 ? end : name;
}

const fits = (place: string, character: string) =>
  place === 'h' ? /[0-9a-f]/.test(character) : character === place;

/** What to go on with where a name first differs from the shape. */
function gapBehind(place: string, character: string): string {
  if (place === 'h' && character < '0') return `/${afterAll}`;
  if (place === 'h' && character < 'a') return `\`${afterAll}`;
  if (place === '/' && character < '/') return `.${afterAll}`;
  return afterAll;
}
