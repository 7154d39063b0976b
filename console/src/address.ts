import { isRepoName, isTenantName } from '../../lambda/core/rules/names.ts';

/**
 * What the console shows, as it is written behind `#`: so names stay out of access logs. No tenant's name starts with
 * `_`: such addresses are the service's own.
 */

const serviceViews = { '': 'tenants', _status: 'status' } as const;
export const tenantViews = ['overview', 'repos', 'objects', 'activity', 'access', 'settings'] as const;
export const repoTabs = ['overview', 'objects', 'locks', 'settings'] as const;

type ServiceView = (typeof serviceViews)[keyof typeof serviceViews];
type TenantView = (typeof tenantViews)[number] | 'repo';
export type ViewName = ServiceView | TenantView;
export type RepoTab = (typeof repoTabs)[number];

export interface Address {
  readonly view: ViewName;
  /** null: a view of the service. */
  readonly tenant: string | null;
  /** Only the view `repo` has one. */
  readonly repo: string | null;
  /** Of the view `repo`. */
  readonly tab: RepoTab;
  /** Filters of the view, by their names. */
  readonly query: Readonly<Record<string, string>>;
}

const home: Address = { view: 'tenants', tenant: null, repo: null, tab: 'overview', query: {} };

/** A view of a tenant, without filters. */
export const tenantAddress = (tenant: string, view: TenantView = 'overview'): Address => ({
  ...home,
  view,
  tenant,
});

/** A repo's page. */
export const repoAddress = (tenant: string, repo: string, tab: RepoTab = 'overview'): Address => ({
  ...tenantAddress(tenant, 'repo'),
  repo,
  tab,
});

/** @returns what an address means; of one that isn't known the nearest view. */
export function parseAddress(hash: string): Address {
  const text = hash.replace(/^#/, '');
  const cut = text.indexOf('?');
  const path = (cut === -1 ? text : text.slice(0, cut)).replace(/^\/+/, '').split('/').map(decoded);
  const query = cut === -1 ? {} : filtersOf(Object.fromEntries(new URLSearchParams(text.slice(cut + 1))));
  const [first = '', second = 'overview', third, fourth] = path;
  if (Object.hasOwn(serviceViews, first))
    return { ...home, view: serviceViews[first as keyof typeof serviceViews], query };
  if (!isTenantName(first)) return home;
  if (second === 'repos' && third !== undefined && isRepoName(third))
    return { ...repoAddress(first, third, repoTabs.find((tab) => tab === fourth) ?? 'overview'), query };
  const view = tenantViews.find((each) => each === second);
  return view ? { ...tenantAddress(first, view), query } : tenantAddress(first);
}

/** As it is written, from `#` on. */
export function formatAddress({ view, tenant, repo, tab, query }: Address): string {
  const filters = new URLSearchParams(filtersOf(query)).toString();
  return `#${pathOf({ view, tenant, repo, tab })}${filters && `?${filters}`}`;
}

function pathOf({ view, tenant, repo, tab }: Omit<Address, 'query'>): string {
  if (tenant === null) return Object.entries(serviceViews).find(([, each]) => each === view)?.[0] ?? '';
  if (view === 'overview') return tenant;
  if (view !== 'repo') return `${tenant}/${view}`;
  return `${tenant}/repos/${encodeURIComponent(repo ?? '')}${tab === 'overview' ? '' : `/${tab}`}`;
}

/** Without a value it is no filter. */
const filtersOf = (query: Address['query']) =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));

/** What is no text is no name. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '%';
  }
}

/** Whoever has signed in. */
interface Reader {
  /** null: the operator. */
  readonly tenant: string | null;
  readonly mayManage: boolean;
}

const managed: readonly ViewName[] = ['activity', 'access', 'settings'];

export const mayOpen = (view: ViewName, { mayManage }: Reader) => mayManage || !managed.includes(view);

/** The address itself, or the nearest one that this reader can open. */
export function nearestAddress(address: Address, reader: Reader): Address {
  if (reader.tenant !== null && address.tenant !== reader.tenant) return tenantAddress(reader.tenant);
  if (address.tenant !== null && !mayOpen(address.view, reader)) return tenantAddress(address.tenant);
  return address;
}

/** The heading of a view, and the start of the document's title. */
export const titleOf = ({ view, repo }: Pick<Address, 'view' | 'repo'>) =>
  view === 'repo' ? (repo ?? '') : view.charAt(0).toUpperCase() + view.slice(1);
