import type { FunctionComponent } from 'preact';
import { parseAddress, type ViewName } from './address.ts';
import type { ViewProps } from './view-props.ts';

/** One that needs no more than it gets here. */
type View = FunctionComponent<ViewProps>;

const others = async () => (await import('./views/all-but-overview.ts')).views;

/** Each view is fetched when it is needed: the overview, which is first, on its own. */
const loads: Readonly<Record<ViewName, () => Promise<View>>> = {
  overview: async () => (await import('./views/overview.tsx')).Overview,
  // A view of the service needs less.
  tenants: async () => (await others()).tenants as View,
  status: async () => (await others()).status as View,
  repos: async () => (await others()).repos,
  repo: async () => (await others()).repo,
  objects: async () => (await others()).objects,
  activity: async () => (await others()).activity,
  access: async () => (await others()).access,
  settings: async () => (await others()).settings,
};
const known = new Map<ViewName, View>();

/** A view that is here already. */
export const viewNow = (view: ViewName) => known.get(view);

/** Fetches a view. The browser keeps it, so it is fetched once. Fails if it can't be fetched. */
export async function loadView(view: ViewName): Promise<void> {
  known.set(view, await loads[view]());
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
