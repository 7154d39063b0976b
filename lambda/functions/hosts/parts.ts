import type { Table } from '../../core/table/requests.ts';
import { clock } from '../../parts.ts';
import { createHostClient } from '../../subjects/hosts/git-hosts.ts';
import { gitHostsFromJson } from '../../subjects/hosts/rules/git-hosts.ts';
import { KnownHostUsers } from '../../subjects/hosts/rules/host-client.ts';
import * as stores from '../../subjects/hosts/stores.ts';

declare const stageJson: { readonly gitHosts: string | undefined };

/** Whose people the stage lets in. */
export const gitHosts = () => gitHostsFromJson(stageJson.gitHosts);

export const stageHosts = () => ({ gitHosts: gitHosts() });

export const linkedHosts = (tables: Table) => ({
  gitHosts: gitHosts(),
  linkedRepos: stores.linkedRepos(tables),
  tenantLinks: stores.tenantLinks(tables),
});

/** How people are asked for at their git hosts. */
export const hostUsers = (tables: Table) => ({
  ...linkedHosts(tables),
  hostClient: createHostClient(clock),
  keptGrants: stores.keptGrants(tables),
  knownHostUsers: new KnownHostUsers(),
});
