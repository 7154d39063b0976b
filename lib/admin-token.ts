import { CfnOutput, RemovalPolicy } from 'aws-cdk-lib';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';

/** The operator's token, generated on the first deployment. The secret's string is the token itself. */
export class AdminToken extends Construct {
  readonly secret: Secret;

  constructor(scope: Construct, id: string, props: { keepData: boolean }) {
    super(scope, id);
    this.secret = new Secret(this, 'Secret', {
      description: 'Admin token of lfs-quota: the bearer of it manages tenants, limits and tokens.',
      // 62 characters, 43 of them: 256 bits.
      generateSecretString: { passwordLength: 43, excludePunctuation: true, includeSpace: false },
      removalPolicy: props.keepData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
    new CfnOutput(this, 'AdminSecretArn', { value: this.secret.secretArn }).overrideLogicalId(
      'AdminSecretArn',
    );
  }
}
