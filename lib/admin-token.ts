import { CfnOutput, RemovalPolicy } from 'aws-cdk-lib';
import { CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';

/** The operator's token, generated on the first deployment. The secret's string is the token itself. */
export class AdminToken extends Construct {
  readonly secretArn: string;

  constructor(scope: Construct, id: string, props: { keepData: boolean }) {
    super(scope, id);
    const secret = new CfnSecret(this, 'Secret', {
      description: 'Admin token of lfs-quota: the bearer of it manages tenants, limits and tokens.',
      // 43 of 62 characters: 256 bits.
      generateSecretString: { passwordLength: 43, excludePunctuation: true, includeSpace: false },
    });
    secret.applyRemovalPolicy(props.keepData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY);
    // `Id` is the ARN, as `Ref` is; but emulators give a name for `Ref`, which no policy matches.
    this.secretArn = secret.attrId;
    new CfnOutput(this, 'AdminSecretArn', { value: this.secretArn }).overrideLogicalId('AdminSecretArn');
  }
}
