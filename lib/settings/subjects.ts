/**
 * What each subject has among the settings of a stage, by the name of the setting: its schema, how it becomes part of the code, and the
 * secrets by which users sign in.
 */

export { identityIssuers } from './ci/identity-issuers.ts';
export { gitHosts } from './hosts/git-hosts.ts';
