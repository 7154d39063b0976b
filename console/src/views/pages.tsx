import { useState } from 'preact/hooks';
import { formatCount } from '../../../cli/render.ts';
import { Button } from '../parts.tsx';
import './pager.css';

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

/** Leads from one page of a table to the next. Nothing, if there is only one. */
function Pager(props: {
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

/** Pages that the server makes. `pagerOf` leads to those beside the one that is shown. */
export function useCursors(size: number) {
  /** Where the pages before this one began. */
  const [cursors, setCursors] = useState<readonly string[]>([]);
  return {
    page: { limit: size, cursor: cursors.at(-1) },
    toFirst: () => setCursors([]),
    pagerOf: (shown: number, next: string | null | undefined) => (
      <Pager
        before={cursors.length * size}
        shown={shown}
        hasMore={!!next}
        onPage={(step) => setCursors(step === 1 && next ? [...cursors, next] : cursors.slice(0, -1))}
      />
    ),
  };
}

/** A text to look for, in a table that the server searches. */
export function Find(props: { label: string; placeholder: string; onFind: (text: string) => void }) {
  const { label, placeholder, onFind } = props;
  const [typed, setTyped] = useState('');
  const find = (event: Event) => {
    event.preventDefault();
    onFind(typed);
  };
  return (
    <form class="row size" onSubmit={find}>
      <input
        type="search"
        aria-label={label}
        placeholder={placeholder}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      <button type="submit">Find</button>
    </form>
  );
}
