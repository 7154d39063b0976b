/**
 * Replaces the SDK's discovery of endpoints in the bundles of the functions. No command of DynamoDB uses it, but its
 * client makes the cache for it, which is 9 kB.
 */
export function resolveEndpointDiscoveryConfig<T>(config: T): T {
  return config;
}

/** What the client would read from the environment and the profile, had it a use for it. */
export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = {
  environmentVariableSelector: () => undefined,
  configFileSelector: () => undefined,
  default: undefined,
};
