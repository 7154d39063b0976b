import { expect, it } from 'vitest';
import { awsDomain } from '../../../../../lambda/core/store/signing.ts';

// From the endpoint rules of the SDK (partitions.json).
it.each([
  ['eu-central-1', 'amazonaws.com'],
  ['us-gov-west-1', 'amazonaws.com'],
  ['cn-north-1', 'amazonaws.com.cn'],
  ['eusc-de-east-1', 'amazonaws.eu'],
  ['us-iso-east-1', 'c2s.ic.gov'],
  ['us-isob-east-1', 'sc2s.sgov.gov'],
  ['us-isof-south-1', 'csp.hci.ic.gov'],
  ['eu-isoe-west-1', 'cloud.adc-e.uk'],
])('the services of %s are below %s', (region, domain) => {
  expect(awsDomain(region)).toBe(domain);
});
