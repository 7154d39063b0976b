import { formatCount } from '../../../cli/render.ts';
import { Button } from '../parts.tsx';
import './pager.css';

/** Leads from one page of a table to the next. Nothing, if there is only one. */
export function Pager(props: {
  /** How many rows come before. */
  before: number;
  /** How many rows are shown. */
  shown: number;
  /** undefined: not known. */
  total?: number;
  hasMore: boolean;
  onPage: (step: 1 | -1) => void;
}) {
  const { before, shown, total, hasMore, onPage } = props;
  if (before === 0 && !hasMore) return null;
  const range = `${formatCount(before + 1)}–${formatCount(before + shown)}`;
  return (
    <div class="row under pager">
      <span class="note" role="status">
        {shown > 0 && (total === undefined ? range : `${range} of ${formatCount(total)}`)}
      </span>
      <Button text="Previous" isDisabled={before === 0} onPress={() => onPage(-1)} />
      <Button text="Next" isDisabled={!hasMore} onPress={() => onPage(1)} />
    </div>
  );
}
