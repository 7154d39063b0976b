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

/** What starts by itself: recounts from the queue, and the schedule that looks for those that are due. */
export class Background extends Construct {
  constructor(scope: Construct, id: string, props: BackgroundProps) {
    super(scope, id);
    new EventSourceMapping(this, 'ReconcileSource', {
      target: props.functions.get('reconcile').function,
      eventSourceArn: props.queue.queueArn,
      // One: a run's whole time is one tenant's, and one that fails takes no other along.
      batchSize: 1,
      reportBatchItemFailures: true,
      maxConcurrency: props.settings.reconcile.concurrency,
    });
    const refresh = props.functions.get('refresh').function;
    new Schedule(this, 'RefreshSchedule', {
      description: 'Queues the recounts that are due.',
      schedule: ScheduleExpression.rate(Duration.minutes(props.settings.refreshEveryMinutes)),
      target: new LambdaInvoke(refresh, {
        role: this.#schedulerRole(refresh.functionArn),
        // The next run is soon, and finds all that this one did not.
        retryAttempts: 0,
        maxEventAge: Duration.minutes(1),
      }),
    });
  }

  /** Written out, as the one that the CDK would make may call every version of the function. */
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
