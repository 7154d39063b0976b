import type { AwsCredentialIdentity } from '@smithy/types';

/**
 * Replaces the SDK's chain of credential providers in the bundles of the functions. Lambda puts the role's
 * credentials into the environment, and starts a new process before they expire. The rest of the chain
 * (profiles, single sign-on, instance metadata) would never run, and is an eighth of a bundle.
 *
 * @throws {Error} when the variables are missing.
 */
export function defaultProvider(): () => Promise<AwsCredentialIdentity> {
  return async () => {
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
    if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY)
      throw new Error('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set. Lambda sets both.');
    return {
      accessKeyId: AWS_ACCESS_KEY_ID,
      secretAccessKey: AWS_SECRET_ACCESS_KEY,
      ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
    };
  };
}
