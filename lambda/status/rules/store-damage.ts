/** What the store of `serve` found in its folder. */
export interface StoreDamage {
  /** Objects that couldn't be read, and weren't stored again since. */
  readonly lost: number;
  /** Files in the folder `set-aside`. */
  readonly damaged: number;
  /** Files that aren't of the store. They harm nothing. */
  readonly foreign: number;
}

/** What is said of it, and what to do. */
export function damageTexts(damage: StoreDamage): { says: string; todo: string | undefined } {
  const found = Object.entries(damage).flatMap(([what, count]) => (count > 0 ? `${count} ${what}` : []));
  const todo =
    'The log lists the files. Push lost objects again from a clone that has them, and check the disk. Then delete store/set-aside.';
  return {
    says: found.length === 0 ? '' : ` Its files: ${found.join(', ')}.`,
    todo: damage.lost + damage.damaged > 0 ? todo : undefined,
  };
}
