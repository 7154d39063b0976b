import { LambdaApplication, LambdaDeploymentConfig, LambdaDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { type FunctionName, functionSpecs } from '../lambda/routes.ts';
import { type Functions, fixedRole, liveAlias } from './functions/functions.ts';
import type { Alarms } from './monitoring/alarms.ts';

/** Take part in every push and pull, and fail for everybody if a version is bad. */
export const tried = (Object.keys(functionSpecs) as FunctionName[]).filter(
  (name) => functionSpecs[name].isTried,
);

/**
 * Gives a new version of these functions a tenth of their requests for five minutes, and then all. If an alarm goes off
 * before, CodeDeploy moves the alias back. Then the deployment has failed, and CloudFormation restores everything else.
 */
export class Canary extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { functions, alarms }: { readonly functions: Functions; readonly alarms: Alarms },
  ) {
    super(scope, id);
    const application = new LambdaApplication(this, 'Application');
    const functionArns = tried.map((name) => functions.get(name).function.functionArn);
    // The CDK's may move every alias of the account. There are no hooks and no triggers.
    const role = fixedRole(this, 'Role', {
      service: 'codedeploy',
      statements: [
        new PolicyStatement({ actions: ['cloudwatch:DescribeAlarms'], resources: ['*'] }),
        new PolicyStatement({
          actions: ['lambda:GetAlias', 'lambda:GetProvisionedConcurrencyConfig', 'lambda:UpdateAlias'],
          resources: functionArns.flatMap((arn) => [arn, `${arn}:${liveAlias}`]),
        }),
      ],
    });
    // A handler answers 500 to an error that it did not expect. Of that only the API knows, not Lambda. And with
    // `monitoring: basic` there are no alarms of functions. The same for all: if one alarm stopped one deployment alone,
    // CloudFormation's rollback would find the other still in progress.
    const ids = ['ApiErrors', ...tried.map((name) => `${name}Errors`)];
    const rolledBackBy = alarms.all.filter(({ node }) => ids.includes(node.id));
    for (const name of tried) {
      new LambdaDeploymentGroup(this, name, {
        application,
        role,
        alias: functions.get(name).live,
        deploymentConfig: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
        alarms: rolledBackBy,
      });
    }
  }
}
