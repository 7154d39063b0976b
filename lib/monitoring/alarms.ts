import { CfnOutput, Stack } from 'aws-cdk-lib';
import { CfnBudget } from 'aws-cdk-lib/aws-budgets';
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import type { DeploymentSettings } from '../settings/deployment-settings.ts';
import { type AlarmSpec, basicAlarms, fullAlarms, functionsThrottled, type Watched } from './alarm-specs.ts';

/**
 * Alarms on what needs a person. All notify one topic; those that can't wait for office hours notify a second one, too.
 * docs/runbook.md says what to do about each.
 */
export class Alarms extends Construct {
  readonly all: readonly Alarm[];
  readonly #topic: Topic;
  readonly #pages: Topic;

  constructor(scope: Construct, id: string, props: Watched) {
    super(scope, id);
    const { monitoring, alarms } = props.settings;
    const publishers = ['cloudwatch', ...(alarms.monthlyDollars === undefined ? [] : ['budgets'])];
    this.#topic = this.#topicOf('Topic', 'lfs-quota alarms', publishers);
    this.#pages = this.#topicOf('PageTopic', 'lfs-quota pages', publishers);
    if (alarms.email !== undefined) this.#topic.addSubscription(new EmailSubscription(alarms.email));
    const more = monitoring === 'full' ? fullAlarms(props) : [functionsThrottled(props.settings)];
    this.all = [...basicAlarms(this, props), ...more].map((spec) => this.#alarm(spec));
    this.#budget(alarms);
  }

  #alarm({ id, severity, says, ringsWithoutData, ...options }: AlarmSpec): Alarm {
    const alarm = new Alarm(this, id, {
      alarmDescription: `[${severity}] ${says}`,
      evaluationPeriods: 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      // Without messages, requests or errors nothing is reported, and all is well.
      treatMissingData: TreatMissingData.NOT_BREACHING,
      ...options,
    });
    const topics = [this.#topic, ...(severity === 'page' ? [this.#pages] : [])];
    const actions = topics.map((topic) => new SnsAction(topic));
    alarm.addAlarmAction(...actions);
    // An alarm that was just created becomes OK, too: a first deployment would send dozens of messages. What receives pages
    // needs them to close an incident, and ignores those without one.
    alarm.addOkAction(...actions.slice(1));
    if (ringsWithoutData) alarm.addInsufficientDataAction(...actions);
    return alarm;
  }

  /** Of the whole account: by tags, a budget counts only what somebody activated them for. */
  #budget({ monthlyDollars: amount, email }: DeploymentSettings['alarms']): void {
    if (amount === undefined) return;
    const notification = (notificationType: 'ACTUAL' | 'FORECASTED', threshold: number) => ({
      notificationType,
      threshold,
      thresholdType: 'PERCENTAGE',
      comparisonOperator: 'GREATER_THAN',
    });
    const to = ({ topicArn: address }: Topic) => ({ subscriptionType: 'SNS', address });
    const toEmail = email === undefined ? [] : [{ subscriptionType: 'EMAIL', address: email }];
    new CfnBudget(this, 'Budget', {
      budget: { budgetType: 'COST', timeUnit: 'MONTHLY', budgetLimit: { amount, unit: 'USD' } },
      notificationsWithSubscribers: [
        { notification: notification('FORECASTED', 100), subscribers: [to(this.#topic)] },
        { notification: notification('ACTUAL', 80), subscribers: [to(this.#topic)] },
        // One topic is all that a notification takes.
        { notification: notification('ACTUAL', 100), subscribers: [to(this.#pages), ...toEmail] },
      ],
    });
  }

  #topicOf(id: 'Topic' | 'PageTopic', displayName: string, publishers: readonly string[]): Topic {
    const topic = new Topic(this, id, { displayName, enforceSSL: true });
    // A policy that names one publisher replaces the account's default policy, so each must be named.
    topic.addToResourcePolicy(
      new PolicyStatement({
        principals: publishers.map((name) => new ServicePrincipal(`${name}.amazonaws.com`)),
        actions: ['sns:Publish'],
        resources: [topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
    const output = id === 'Topic' ? 'AlarmTopicArn' : 'PageTopicArn';
    new CfnOutput(this, output, { value: topic.topicArn }).overrideLogicalId(output);
    return topic;
  }
}
