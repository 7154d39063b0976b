/** What the store of `serve` found in its folder. */
export interface StoreDamage {
  /** Objects that couldn't be read, and weren't stored again since. */
  readonly lost: number;
  /** Files in the folder `set-aside`. */
  readonly damaged: number;
  /** Files that aren't of the store. They harm nothing. */
  readonly foreign: number;
}

export const noDamage: StoreDamage = { lost: 0, damaged: 0, foreign: 0 };

/** What is said of it. Empty: nothing. */
export function damageText(damage: StoreDamage): string {
  const found = Object.entries(damage).filter(([, count]) => count > 0);
  return found.length === 0
    ? ''
    : ` Its files: ${found.map(([what, count]) => `${count} ${what}`).join(', ')}.`;
}

export const damageTodo =
  'The log names them. Push lost objects again from a clone that has them, and check the disk. Then delete store/set-aside.';
