import { Duration, Stack } from 'aws-cdk-lib';
import { type IRole, PolicyDocument, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { EventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import { Schedule, ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Functions } from './functions/functions.ts';
import type { StageSettings } from './settings/stage-settings.ts';

export interface BackgroundProps {
  readonly settings: StageSettings;
  readonly queue: IQueue;
  readonly functions: Functions;
}

/** What runs without a request: recounts from the queue, and the schedule that looks for tenants that are due. */
export class Background extends Construct {
  constructor(scope: Construct, id: string, props: BackgroundProps) {
    super(scope, id);
    new EventSourceMapping(this, 'ReconcileSource', {
      target: props.functions.get('reconcile').function,
      eventSourceArn: props.queue.queueArn,
      // One at a time: a tenant gets the whole run, and a failure affects no other tenant.
      batchSize: 1,
      reportBatchItemFailures: true,
      maxConcurrency: props.settings.reconcile.concurrency,
    });
    const refresh = props.functions.get('refresh').function;
    new Schedule(this, 'RefreshSchedule', {
      description: 'Queues recounts of the tenants that are due.',
      schedule: ScheduleExpression.rate(Duration.minutes(props.settings.refreshEveryMinutes)),
      target: new LambdaInvoke(refresh, {
        role: this.#schedulerRole(refresh.functionArn),
        // The next run comes soon, and finds the same tenants.
        retryAttempts: 0,
        maxEventAge: Duration.minutes(1),
      }),
    });
  }

  /** Defined here because the role that the CDK would create may invoke every version of the function. */
  #schedulerRole(functionArn: string): IRole {
    const invoke = new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [functionArn] });
    return new Role(this, 'SchedulerRole', {
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
      inlinePolicies: { grants: new PolicyDocument({ statements: [invoke] }) },
    }).withoutPolicyUpdates();
  }
}
