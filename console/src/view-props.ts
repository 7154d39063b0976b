import type { ComponentChildren, FunctionComponent } from 'preact';
import type { SentTo } from '../../cli/routes.ts';
import type { RepoBody, SubscriptionBody } from '../../lambda/contract.ts';
import type { SessionBody } from '../../lambda/frame/contract/sessions.ts';
import type { TenantBody } from '../../lambda/frame/contract/tenants.ts';
import type { Address } from './address.ts';
import type { AskBeside, Live } from './subscription.ts';
import type { Column } from './views/table.tsx';

/** What every view gets. */
export interface ServiceViewProps {
  readonly session: SessionBody;
  readonly address: Address;
  /** The operator, or a token of scope `manage`. */
  readonly mayManage: boolean;
  readonly nowMs: number;
}

/** What a view of a tenant gets. */
export interface ViewProps extends ServiceViewProps {
  readonly tenant: string;
  /** Kept up to date; `askNow` and `scanAgain` ask at once. */
  readonly live: Live;
  /** `live.body`, as it is known. */
  readonly body: SubscriptionBody;
}

/** What a door gets. Links need nobody to have signed in. */
export interface DoorProps {
  readonly session: SessionBody | null;
  /** To be shown instead, if it needs somebody. */
  readonly signIn: ComponentChildren;
  readonly onSignedIn: (session: SessionBody) => void;
}

/** What a part of a repo's page gets. */
export interface RepoProps extends ViewProps {
  readonly repo: RepoBody;
  /** @returns why it could not be changed. */
  readonly send: (body: SentTo<'PATCH /v1/tenants/{tenant}/repos/{repo}'>) => Promise<string | undefined>;
  /** Ids of the git hosts that it can be linked to. */
  readonly useGitHosts: UseGitHosts;
}

type UseGitHosts = (tenant: string) => readonly string[];

/** What stands beside a repo's name, by its place; in its page's title it may say more. */
export type RepoPills = Readonly<Record<number, (repo: RepoBody, isTitle: boolean) => ComponentChildren>>;

/** What a subject has in the overview. */
export interface OverviewPart {
  readonly repoPills?: RepoPills;
  readonly cards?: Placed<ViewProps & { isEmpty: boolean }>;
  readonly ask?: AskBeside;
}

/** By their place: JavaScript lists numbers in their order. */
export type Placed<Props> = Readonly<Record<number, FunctionComponent<Props>>>;

export interface TenantsPart {
  readonly columns: Readonly<Record<number, Column<TenantBody>>>;
  /** Follows a name. */
  readonly markOf: (body: TenantBody) => ComponentChildren;
}

export interface CardProps {
  readonly access: ViewProps & { repos: readonly string[] };
  readonly settings: ViewProps;
  readonly repo: RepoProps;
  readonly repoSettings: RepoProps;
}

type Cards = { readonly [K in keyof CardProps]?: Placed<CardProps[K]> };

export type RepoKinds = Readonly<Record<number, readonly [name: string, isOf: (repo: RepoBody) => boolean]>>;

/** What a subject has in the views that are fetched together. */
export interface SubjectParts extends Cards {
  /** Views and tabs of a repo by their addresses, and doors by the start of theirs. */
  readonly views?: Readonly<Record<string, FunctionComponent<ViewProps>>>;
  readonly tabs?: Readonly<Record<string, FunctionComponent<RepoProps>>>;
  readonly doors?: Readonly<Record<string, FunctionComponent<DoorProps>>>;
  /** Of the table of repos. */
  readonly repoColumns?: Readonly<Record<number, Column<RepoBody>>>;
  /** Kinds of repos to choose from, by their place. */
  readonly repoKinds?: RepoKinds;
  /** A figure of a repo. */
  readonly useRepoFigure?: (props: RepoProps) => { readonly name: string; readonly value: string };
  /** What isn't done yet, or doesn't work; if there's nothing, false or undefined. */
  readonly useInProgress?: (props: ViewProps) => ComponentChildren;
  readonly useGitHosts?: UseGitHosts;
  /** What the list of tenants says of those that are shown. */
  readonly useTenants?: (shown: readonly TenantBody[]) => TenantsPart;
  /** A line above the list of tenants, which waits for it. */
  readonly useTenantsHead?: (nowMs: number) => {
    readonly isKnown: boolean;
    readonly head: ComponentChildren;
  };
}
