import { CfnParameter, CfnRule, Fn } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { DeploymentSettings } from './settings/deployment-settings.ts';

/** The values of the parameters. They must be what somebody can type into a shell. */
const stacksOwn = 'own';

/**
 * Refuses a deployment that would serve other data than the last one: without the settings file, a stack whose objects
 * are elsewhere would get a new, empty bucket, and one with a restored table the empty one.
 *
 * The first deployment stores what it uses, as the parameters' defaults. Later ones of the CDK keep a parameter's value,
 * and CloudFormation compares it before it changes anything.
 */
export class DataInUse extends Construct {
  constructor(scope: Construct, id: string, settings: DeploymentSettings) {
    super(scope, id);
    const { objectStore, restoredTableName } = settings;
    this.#keep('ObjectStoreInUse', {
      what: 'object store',
      now:
        objectStore.kind === 'bucket'
          ? (objectStore.existingBucket ?? stacksOwn)
          : `${objectStore.endpoint}/${objectStore.bucket}`,
    });
    this.#keep('TableInUse', { what: 'table', now: restoredTableName ?? stacksOwn });
  }

  #keep(name: string, { what, now }: { what: string; now: string }): void {
    const inUse = new CfnParameter(this, name, {
      default: now,
      description: `The ${what} of the last deployment. Only --parameters ${name}=… changes it.`,
    });
    inUse.overrideLogicalId(name);
    const used = now === stacksOwn ? `the stack's own ${what}` : `the ${what} ${now}`;
    new CfnRule(this, `${name}Stays`, {
      assertions: [
        {
          assert: Fn.conditionEquals(inUse.valueAsString, now),
          assertDescription: `These settings use ${used}, and the last deployment used another one: its data would stay behind. Did you forget -c settings=FILE.json? To change it, deploy with --parameters ${name}=${now}`,
        },
      ],
    }).overrideLogicalId(`${name}Stays`);
  }
}
