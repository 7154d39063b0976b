import type { FunctionComponent } from 'preact';
import { parseAddress, type ViewName } from './address.ts';
import type { ViewProps } from './view-props.ts';
import { Overview } from './views/overview.tsx';

/** One that needs no more than it gets here. */
type View = FunctionComponent<ViewProps>;

const known = new Map<ViewName, View>();

/** A view that is here already. */
export const viewNow = (view: ViewName) => known.get(view);

/** Fetches a view: the overview, which is first, on its own. The browser keeps it. Fails if it can't be fetched. */
export async function loadView(view: ViewName): Promise<void> {
  if (view === 'overview') known.set(view, Overview);
  // A view of the service needs less.
  else known.set(view, (await import('./views/all-but-overview.ts')).views[view] as View);
}

/** Fetches the view of each link that is pointed at or gets the focus. */
export function fetchAhead(): void {
  const onTarget = ({ target }: Event) => {
    const href = target instanceof Element && target.closest('a[href^="#"]')?.getAttribute('href');
    // What can't be fetched now says so when it is opened.
    if (href) void loadView(parseAddress(href).view).catch(() => {});
  };
  addEventListener('pointerover', onTarget);
  addEventListener('focusin', onTarget);
}
