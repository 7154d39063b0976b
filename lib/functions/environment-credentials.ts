/**
 * What stands in for the SDK's chain of credential providers in the bundles of the functions. A function has its
 * credentials in its environment; the other providers would be a fifth of each bundle, and of each start.
 */
export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';
