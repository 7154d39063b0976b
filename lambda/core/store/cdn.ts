import { type KeyObject, sign } from 'node:crypto';
import type { UrlSigner } from './rules/store.ts';
import { escapePath } from './signing.ts';

/** Larger files CloudFront doesn't serve in one response. */
export const cdnBytesMax = 50e9;

/** Instead of what a query would have to escape. */
const replaced: Readonly<Record<string, string>> = { '+': '-', '=': '_', '/': '~' };

/**
 * Signs downloads for CloudFront, each for one key of the bucket. Uploads, files of over 50 GB and downloads with a name
 * are left to the other signer. The SDK's takes three times as long, because it reads the key for each.
 *
 * Specification: docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/private-content-creating-signed-url-canned-policy.html.
 *
 * @param cdn.url `https://host`, no path.
 * @param cdn.key is called for each signature. It should answer from memory.
 */
export function cdnSigner(
  signer: UrlSigner,
  cdn: { url: string; keyId: string; key: () => Promise<KeyObject> },
): UrlSigner {
  return {
    signUpload: signer.signUpload,
    async signDownload(input) {
      if ((input.sizeBytes ?? 0) > cdnBytesMax || input.saveAs !== undefined)
        return signer.signDownload(input);
      const url = `${cdn.url}/${escapePath(input.key)}`;
      // Rounded down: a URL must never live longer than requested.
      const expires = Math.floor((input.signedAtMs + input.lifetimeMs) / 1000);
      const policy = `{"Statement":[{"Resource":"${url}","Condition":{"DateLessThan":{"AWS:EpochTime":${expires}}}}]}`;
      const bytes = sign('sha256', Buffer.from(policy), await cdn.key());
      const signature = bytes.toString('base64').replace(/[+=/]/g, (char) => replaced[char] ?? '');
      const query = `Expires=${expires}&Signature=${signature}&Key-Pair-Id=${cdn.keyId}&Hash-Algorithm=SHA256`;
      return { href: `${url}?${query}`, header: {} };
    },
  };
}
