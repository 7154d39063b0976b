import { useState } from 'preact/hooks';
import { Pager } from './pager.tsx';

/**
 * Rows of one page, and what leads to the others.
 *
 * @param canMore there are others, which aren't read yet.
 */
export function usePages<Row>(rows: readonly Row[], size: number, canMore?: boolean) {
  const [page, setPage] = useState(0);
  // There may be fewer than before.
  const before = Math.max(0, Math.min(page, Math.ceil(rows.length / size) - 1)) * size;
  const shown = rows.slice(before, before + size);
  const isLast = rows.length <= before + size;
  const pager = (
    <Pager
      before={before}
      shown={shown.length}
      {...(canMore === undefined && { total: rows.length })}
      hasMore={!isLast || canMore === true}
      onPage={(step) => setPage(before / size + step)}
    />
  );
  return { shown, pager, isLast, toFirst: () => setPage(0) };
}
