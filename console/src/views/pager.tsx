import { useState } from 'preact/hooks';
import { formatCount } from '../../../cli/render.ts';

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
    <div class="pager">
      <span class="note" role="status">
        {total === undefined ? range : `${range} of ${formatCount(total)}`}
      </span>
      <button type="button" disabled={before === 0} onClick={() => onPage(-1)}>
        Previous
      </button>
      <button type="button" disabled={!hasMore} onClick={() => onPage(1)}>
        Next
      </button>
    </div>
  );
}

/** Rows of one page, and what leads to the others. */
export function usePages<Row>(rows: readonly Row[], size: number) {
  const [page, setPage] = useState(0);
  // There may be fewer than before.
  const before = Math.max(0, Math.min(page, Math.ceil(rows.length / size) - 1)) * size;
  const shown = rows.slice(before, before + size);
  const pager = (
    <Pager
      before={before}
      shown={shown.length}
      total={rows.length}
      hasMore={before + size < rows.length}
      onPage={(step) => setPage(before / size + step)}
    />
  );
  return { shown, pager, toFirst: () => setPage(0) };
}
