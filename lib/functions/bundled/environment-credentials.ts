import { roleCredentials } from '../../../lambda/adapters/system/role-credentials.ts';

/**
 * Replaces the SDK's chain of credential providers in the bundles of the functions. The rest of the chain (profiles,
 * single sign-on, instance metadata) would never run, and is an eighth of a bundle.
 */
export function defaultProvider(): () => Promise<ReturnType<typeof roleCredentials>> {
  return async () => roleCredentials(process.env);
}
