import type { FunctionComponent } from 'preact';
import { parseAddress, type ViewName } from './address.ts';
import type { ServiceViewProps, ViewProps } from './view-props.ts';

type Load<Props> = () => Promise<FunctionComponent<Props>>;

const service = async () => (await import('./views/service-views.ts')).serviceViews;

/** Views of the service, in a part that is fetched when it is needed. */
const serviceViews: Partial<Record<ViewName, Load<ServiceViewProps>>> = {
  tenants: async () => (await service()).tenants,
  status: async () => (await service()).status,
};

const storage = async () => (await import('./views/storage-views.ts')).storageViews;
const team = async () => (await import('./views/team-views.ts')).teamViews;

/** Views of a tenant. */
const tenantViews: Partial<Record<ViewName, Load<ViewProps>>> = {
  overview: async () => (await import('./views/overview.tsx')).Overview,
  repos: async () => (await storage()).repos,
  repo: async () => (await storage()).repo,
  objects: async () => (await storage()).objects,
  activity: async () => (await team()).activity,
  access: async () => (await team()).access,
  settings: async () => (await team()).settings,
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
