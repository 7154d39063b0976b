/** What each subject has among the settings of a stage, by the name of the setting. */

export { identityIssuers } from './ci/identity-issuers.ts';
export { gitHosts } from './hosts/git-hosts.ts';
