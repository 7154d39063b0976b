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
