import { CfnElement, Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';
import { cleanupScopes, exportScopes, objectsBelow } from './functions/function-resources.ts';
import { functionSpecs } from './functions/function-specs.ts';
import type { LfsQuotaStack } from './lfs-quota-stack.ts';

/** Every finding of cdk-nag's AwsSolutions that is accepted, and why. Any other finding fails the synth. */
export function acknowledgeFindings(stack: LfsQuotaStack): void {
  acknowledge(stack.adminToken, 'SMG4', [
    'Operators and their tools hold the admin token: an automatic rotation would lock them out.',
    'docs/operations.md says how to rotate it.',
  ]);
  acknowledge(stack.api, 'APIG4', [
    'The handlers check the credential of every request except health checks. An authorizer of an HTTP API',
    'cannot send the LFS-Authenticate header that makes git ask for a credential.',
  ]);
  const { bucket } = stack.storage;
  if (bucket === undefined) return;
  acknowledge(bucket, 'S1', [
    'Server access logs would record the query strings of presigned URLs, which are credentials until they expire.',
  ]);
  const { defaultChild } = bucket.node;
  if (!CfnElement.isCfnElement(defaultChild)) throw new Error('A bucket is no longer one resource.');
  const bucketId = stack.getLogicalId(defaultChild);
  for (const [name, handler] of stack.functions.entries()) {
    const { objects = [], archives = [], putsExportRequests, putsCleanup } = functionSpecs[name];
    for (const below of new Set(objects.map(objectsBelow))) {
      acknowledge(handler, `IAM5[Resource::<${bucketId}.Arn>${below}]`, [
        'Keys are {tenant}/{repo}/{oid}, and tenants come and go: no narrower wildcard covers them.',
      ]);
    }
    const scopes = [
      ...(archives.length > 0 ? [exportScopes.archives] : []),
      ...(putsExportRequests ? [exportScopes.requests] : []),
    ];
    for (const below of scopes) {
      acknowledge(handler, `IAM5[Resource::<${bucketId}.Arn>${below}]`, [
        'Exports have keys of their own, by tenant and export, and both come and go.',
      ]);
    }
    if (putsCleanup !== undefined)
      acknowledge(handler, `IAM5[Resource::<${bucketId}.Arn>${cleanupScopes[putsCleanup]}]`, [
        'Clean-ups have keys of their own, by tenant and watch, and both come and go.',
      ]);
  }
}

function acknowledge(scope: IConstruct, rule: string, reason: readonly string[]): void {
  Validations.of(scope).acknowledge({
    id: `AwsSolutions::AwsSolutions-${rule}`,
    reason: reason.join(' '),
  });
}
