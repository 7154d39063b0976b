/** Storage classes by S3's names. Those that need a restore before a read are left out: a pull couldn't wait for it. */
export const storageClasses = [
  'STANDARD',
  'STANDARD_IA',
  'ONEZONE_IA',
  'INTELLIGENT_TIERING',
  'GLACIER_IR',
] as const;

export type StorageClass = (typeof storageClasses)[number];

/** The classes in a list such as `STANDARD,STANDARD_IA`. An empty one has none. undefined: it has a name that isn't one. */
export function storageClassesIn(text: string): readonly StorageClass[] | undefined {
  const names = text.split(',').filter((name) => name !== '');
  const found = storageClasses.filter((each) => names.includes(each));
  return found.length === new Set(names).size ? found : undefined;
}
