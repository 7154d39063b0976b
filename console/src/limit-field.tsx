import { parseSize } from '../../lambda/rules/sizes.ts';

/** A limit as it was typed. An empty field is never "unlimited": that's the box's. */
export interface TypedLimit {
  readonly size: string;
  readonly isUnlimited: boolean;
}

/** The limit that was typed, null for unlimited, or a problem to show. */
export function readLimit({ size, isUnlimited }: TypedLimit): { bytes: number | null } | { problem: string } {
  return isUnlimited ? { bytes: null } : parseSize(size);
}

export function LimitField(props: { typed: TypedLimit; onType: (typed: TypedLimit) => void }) {
  const { typed, onType } = props;
  return (
    <>
      <label for="limit">Storage limit</label>
      <input
        id="limit"
        type="text"
        autocomplete="off"
        disabled={typed.isUnlimited}
        value={typed.size}
        onInput={({ currentTarget }) => onType({ ...typed, size: currentTarget.value })}
      />
      <label>
        <input
          type="checkbox"
          checked={typed.isUnlimited}
          onChange={({ currentTarget }) => onType({ ...typed, isUnlimited: currentTarget.checked })}
        />{' '}
        Unlimited
      </label>
    </>
  );
}
