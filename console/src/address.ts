import { isRepoName, isTenantName } from '../../lambda/core/rules/names.ts';
import * as addresses from './addresses.ts';

/**
 * What the console shows, as it is written behind `#`: so names stay out of access logs. No tenant's name starts with
 * `_`: such addresses are the service's own.
 */

interface OwnAddress {
  readonly view?: string;
  /** Of the view: a drawing, 16 by 16. */
  readonly icon?: string;
  readonly tab?: string;
  /** Of the repos that have the tab. undefined: those for Git LFS. */
  readonly kind?: 'files';
  /** What follows `#_`, as a pattern. */
  readonly door?: string;
}

/** Those of the subjects. */
export const ownAddresses: readonly OwnAddress[] = Object.values(addresses);

const ownViews = ownAddresses.flatMap(({ view }) => view ?? []);
export const serviceViews: readonly ViewName[] = ['tenants', ...ownViews];
export const tenantViews = ['overview', 'repos', 'objects', 'activity', 'access', 'settings'] as const;
export const repoTabs: readonly string[] = [
  'overview',
  'objects',
  ...ownAddresses.flatMap(({ tab }) => tab ?? []),
  'settings',
];

/** Whether repos of a kind have a tab. */
export const isTabOf = (tab: string, kind: OwnAddress['kind']) =>
  tab === 'overview' || tab === 'settings' || ownAddresses.find((own) => own.tab === tab)?.kind === kind;

type TenantView = (typeof tenantViews)[number] | 'repo';
/** Of a tenant, of the service, or of a subject. */
export type ViewName = TenantView | 'tenants' | (string & {});

export interface Address {
  readonly view: ViewName;
  /** null: a view of the service. */
  readonly tenant: string | null;
  /** Only the view `repo` has one. */
  readonly repo: string | null;
  /** Of the view `repo`. */
  readonly tab: string;
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
export const repoAddress = (tenant: string, repo: string, tab = 'overview'): Address => ({
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
  if (first === '') return { ...home, query };
  const ownView = ownViews.find((each) => first === `_${each}`);
  if (ownView) return { ...home, view: ownView, query };
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
  if (tenant === null) return ownViews.includes(view) ? `_${view}` : '';
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
  view === 'repo' ? (repo ?? '') : capitalized(view);

export const capitalized = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);
