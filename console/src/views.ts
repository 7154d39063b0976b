import type { FunctionComponent } from 'preact';
import { parseAddress, type ViewName } from './address.ts';
import type { ServiceViewProps, ViewProps } from './view-props.ts';

type Load<Props> = () => Promise<FunctionComponent<Props>>;

/** Views of the service. Each is a file of its own that is fetched when it is needed. */
const serviceViews: Partial<Record<ViewName, Load<ServiceViewProps>>> = {
  tenants: async () => (await import('./views/tenants.tsx')).Tenants,
  status: async () => (await import('./views/status.tsx')).Status,
};

/** Views of a tenant. */
const tenantViews: Partial<Record<ViewName, Load<ViewProps>>> = {
  overview: async () => (await import('./views/overview.tsx')).Overview,
  repos: async () => (await import('./views/repos.tsx')).Repos,
  repo: async () => (await import('./views/repo.tsx')).Repo,
  objects: async () => (await import('./views/objects.tsx')).Objects,
  activity: async () => (await import('./views/activity.tsx')).Activity,
  access: async () => (await import('./views/access.tsx')).Access,
  settings: async () => (await import('./views/settings.tsx')).Settings,
};

/** One that needs no more than it gets here. */
type View = FunctionComponent<ViewProps>;
const loads = { ...serviceViews, ...tenantViews } as Partial<Record<ViewName, Load<ViewProps>>>;
const known = new Map<ViewName, View>();

export const hasView = (view: ViewName) => loads[view] !== undefined;

/** A view that is here already. */
export const viewNow = (view: ViewName) => known.get(view);

/** Fetches a view. The browser keeps it, so it is fetched once. Fails if it can't be fetched. */
export async function loadView(view: ViewName): Promise<void> {
  const loaded = await loads[view]?.();
  if (loaded) known.set(view, loaded);
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
