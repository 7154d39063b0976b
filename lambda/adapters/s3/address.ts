import { isIP } from 'node:net';
import { escapePath } from './sigv4.ts';

/** Where a bucket is. */
export interface BucketPlace {
  readonly bucket: string;
  readonly region: string;
  /** Base URL of an S3-compatible store; omitted for AWS. */
  readonly endpoint?: string;
  /** The bucket is in the path, not in the host name. Most stores other than AWS need this. */
  readonly forcePathStyle?: boolean;
}

/** The URL that a bucket's keys are appended to, after a slash. */
export interface BucketAddress {
  /** `https://host` or `https://host:port`, no path. */
  readonly origin: string;
  /** Value of the Host header. */
  readonly host: string;
  /** Absolute and escaped, without a slash at its end; may be empty. */
  readonly path: string;
}

/**
 * A bucket name with a dot goes into the path, because the wildcard of the certificate covers one label only. So does
 * any bucket at an IP address, which cannot have a subdomain.
 */
export function bucketAddress({ bucket, region, endpoint, forcePathStyle }: BucketPlace): BucketAddress {
  const url = new URL(endpoint ?? `https://s3.${region}.${awsDomain(region)}`);
  const path = url.pathname.replace(/\/$/, '');
  const isDottedHttps = url.protocol === 'https:' && bucket.includes('.');
  if (forcePathStyle || isDottedHttps || isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0) {
    return { origin: url.origin, host: url.host, path: `${path}/${escapePath(bucket)}` };
  }
  const host = `${bucket}.${url.host}`;
  return { origin: `${url.protocol}//${host}`, host, path };
}

/** By the beginning of a region's name: the domain of its partition. */
const domains = [
  ['cn-', 'amazonaws.com.cn'],
  ['eusc-', 'amazonaws.eu'],
  ['us-iso-', 'c2s.ic.gov'],
  ['us-isob-', 'sc2s.sgov.gov'],
  ['us-isof-', 'csp.hci.ic.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk'],
] as const;

/** The domain under which a region's services are: `https://{service}.{region}.{domain}`. */
export function awsDomain(region: string): string {
  return domains.find(([prefix]) => region.startsWith(prefix))?.[1] ?? 'amazonaws.com';
}
