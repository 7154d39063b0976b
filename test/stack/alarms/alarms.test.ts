import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { functionSpecs } from '../../../lambda/routes.ts';
import { parseDeploymentSettings } from '../../../lib/settings/stages.ts';
import { expectRefused, templateOf } from '../stack-template.ts';
import { trusting } from '../trusting.ts';
import { type AlarmProperties, alarmsOf, firstRinging, metricOf, ringsSurely } from './alarm-evaluation.ts';
import {
  attemptsMax,
  dayEnds,
  faultBegins,
  faults,
  MetricStreams,
  ordinaryDay,
  start,
  stoppedSchedule,
  timeLimitMinutes,
} from './scenarios.ts';

const basic = alarmsOf(templateOf({ monitoring: 'basic' }));
const full = alarmsOf(templateOf({ storeEvents: true, email: { from: 'quota@example.com' }, ...trusting }));
const alarms = new Map([...basic, ...full]);

function alarmNamed(name: string): AlarmProperties {
  const alarm = alarms.get(name);
  if (alarm === undefined) throw new Error(`The stack has no alarm ${name}.`);
  return alarm;
}

describe('every alarm of the stack', () => {
  it('has a fault for which it must ring', () => {
    expect(Object.keys(faults).sort()).toEqual([...alarms.keys()].sort());
    for (const [name, each] of Object.entries(faults)) expect(each.length, name).toBeGreaterThan(0);
  });

  const each = Object.entries(faults).flatMap(([name, list]) => list.map((fault) => ({ name, fault })));
  it.each(each)('$name rings when $fault.what', ({ name, fault }) => {
    const streams = new MetricStreams();
    fault.publish(streams);
    const alarm = alarmNamed(name);
    const samples = streams.of(metricOf(alarm));
    const until = faultBegins + fault.withinMinutes;
    expect(ringsSurely(alarm, samples, { from: faultBegins, until })).toBe(true);
  });

  describe('on an ordinary day', () => {
    const day = ordinaryDay({ refreshEveryMinutes: 1 });

    it.each([...alarms.keys()])('%s has values to judge, and does not ring', (name) => {
      const alarm = alarmNamed(name);
      const samples = day.of(metricOf(alarm));
      expect(samples.length).toBeGreaterThan(0);
      expect(firstRinging(alarm, samples, { from: start, until: dayEnds })).toBeUndefined();
    });
  });

  it('is judged with the numbers of a stage', () => {
    const { reconcile, refreshEveryMinutes } = parseDeploymentSettings('prod', {});
    expect({ attemptsMax, timeLimitMinutes, every: 1 }).toEqual({
      attemptsMax: reconcile.attemptsMax,
      timeLimitMinutes: reconcile.timeoutMinutes,
      every: refreshEveryMinutes,
    });
    expect(functionSpecs.refresh.timeoutSeconds).toBe(60 * timeLimitMinutes);
  });
});

describe('the schedule', () => {
  it.each([1, 15, 60, 240, 1_440])('every %i minutes is missed when it stops, and not before', (every) => {
    const stage = { refreshEveryMinutes: every, ...(every > 600 && { alarms: { reconcileAgeHours: 49 } }) };
    const alarm = alarmsOf(templateOf(stage)).get('RefreshStopped') ?? alarmNamed('RefreshStopped');
    const metric = metricOf(alarm);
    const usual = ordinaryDay({ refreshEveryMinutes: every }).of(metric);
    expect(firstRinging(alarm, usual, { from: start, until: dayEnds })).toBeUndefined();
    const stopped = stoppedSchedule({ refreshEveryMinutes: every }).of(metric);
    const until = faultBegins + every + 60 * (alarm.EvaluationPeriods + 5);
    expect(ringsSurely(alarm, stopped, { from: faultBegins, until })).toBe(true);
  });
});

it('a schedule that just began, in a first deployment, is not taken for one that stopped', () => {
  const streams = new MetricStreams();
  for (let minute = faultBegins; minute < dayEnds; minute++) streams.refresh(minute, 'succeeds');
  const alarm = alarmNamed('RefreshStopped');
  const samples = streams.of(metricOf(alarm));
  expect(firstRinging(alarm, samples, { from: start - 600, until: dayEnds })).toBeUndefined();
});

describe('the severity of an alarm', () => {
  /** Of each row of the page: the alarms, and their severity. */
  const rows = [
    ...readFileSync(new URL('../../../docs/runbook.md', import.meta.url), 'utf8').matchAll(
      /^\| \*\*(.+?)\*\* \| (page|ticket) \|/gm,
    ),
  ].flatMap(([, names = '', severity = '']) => names.split(', ').map((name) => [name, severity] as const));
  const rowOf = (alarm: string) =>
    rows
      .filter(([name]) => new RegExp(`^${name.replace('…', '.+')}$`).test(alarm))
      .map(([, severity]) => severity);

  it.each([...alarms])('of %s is that of the runbook', (name, { AlarmDescription }) => {
    const [severity] = rowOf(name);
    expect(AlarmDescription.slice(0, 8)).toContain(`[${severity}]`);
  });

  it('is of alarms that there are', () => {
    const unknown = rows.filter(
      ([name]) =>
        ![...alarms.keys()].some(
          (alarm) => rowOf(alarm).length > 0 && new RegExp(`^${name.replace('…', '.+')}$`).test(alarm),
        ),
    );
    expect(unknown).toEqual([]);
  });

  it('decides who is notified: of a page a second topic, too, and that alone of its end', () => {
    for (const [name, alarm] of alarms) {
      const isPage = alarm.AlarmDescription.startsWith('[page] ');
      const refs = alarm.AlarmActions.map((action) =>
        (action as { Ref: string }).Ref.replace(/[0-9A-F]{8}$/, ''),
      );
      expect(refs, name).toEqual(['AlarmsTopic', ...(isPage ? ['AlarmsPageTopic'] : [])]);
      // An alarm is OK, too, when it was just created: a topic that people read would get dozens of messages.
      expect(alarm.OKActions, name).toEqual(alarm.AlarmActions.slice(1));
    }
    expect(alarmNamed('RefreshStopped').InsufficientDataActions).toHaveLength(2);
  });
});

describe('monitoring', () => {
  it('basic has what concerns everybody, and no dashboard', () => {
    expect([...basic.keys()].sort()).toEqual([
      'ApiErrors',
      'ClientErrors',
      'DeadLetters',
      'Drift',
      'FunctionsThrottled',
      'ReconcileAgeHigh',
      'ReconcilesFailed',
      'ReconcilesLate',
      'RefreshStopped',
      'RequestsThrottled',
    ]);
    templateOf({ monitoring: 'basic' }).resourceCountIs('AWS::CloudWatch::Dashboard', 0);
    expect(Object.keys(templateOf({ monitoring: 'basic' }).findOutputs('*'))).not.toContain('DashboardUrl');
  });

  it('none has no alarm, and nothing that notifies', () => {
    const template = templateOf({ monitoring: 'none' });
    for (const type of ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::Dashboard', 'AWS::SNS::Topic'])
      template.resourceCountIs(type, 0);
  });

  it.each([{ email: 'ops@example.com' }, { monthlyDollars: 20 }])('none is refused with %j', (given) => {
    expectRefused({ monitoring: 'none', alarms: given }, 'needs monitoring basic or full');
  });
});

describe('a budget', () => {
  it('is there if it is set, for the account', () => {
    templateOf().resourceCountIs('AWS::Budgets::Budget', 0);
    const template = templateOf({ alarms: { monthlyDollars: 50, email: 'ops@example.com' } });
    const [budget] = Object.values(template.findResources('AWS::Budgets::Budget'));
    const topic = (name: string) => ({
      SubscriptionType: 'SNS',
      Address: { Ref: expect.stringMatching(`^Alarms${name}[0-9A-F]{8}$`) },
    });
    const notification = (NotificationType: string, Threshold: number) => ({
      NotificationType,
      Threshold,
      ThresholdType: 'PERCENTAGE',
      ComparisonOperator: 'GREATER_THAN',
    });
    expect(budget?.['Properties']).toMatchObject({
      Budget: { BudgetType: 'COST', TimeUnit: 'MONTHLY', BudgetLimit: { Amount: 50, Unit: 'USD' } },
      NotificationsWithSubscribers: [
        { Notification: notification('FORECASTED', 100), Subscribers: [topic('Topic')] },
        { Notification: notification('ACTUAL', 80), Subscribers: [topic('Topic')] },
        {
          Notification: notification('ACTUAL', 100),
          Subscribers: [topic('PageTopic'), { SubscriptionType: 'EMAIL', Address: 'ops@example.com' }],
        },
      ],
    });
  });

  it('may publish to the topics, for the own account alone', () => {
    const publishersOf = (template: ReturnType<typeof templateOf>) =>
      Object.values(template.findResources('AWS::SNS::TopicPolicy')).map(({ Properties }) =>
        Properties.PolicyDocument.Statement.filter(
          ({ Effect }: { Effect: string }) => Effect === 'Allow',
        ).map(
          ({ Principal, Condition }: { Principal: { Service: string | string[] }; Condition: unknown }) => [
            [Principal.Service].flat().sort(),
            Condition,
          ],
        ),
      );
    const own = { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } };
    const both = ['budgets.amazonaws.com', 'cloudwatch.amazonaws.com'];
    expect(publishersOf(templateOf())).toEqual([
      [[['cloudwatch.amazonaws.com'], own]],
      [[['cloudwatch.amazonaws.com'], own]],
    ]);
    expect(publishersOf(templateOf({ alarms: { monthlyDollars: 50, email: 'ops@example.com' } }))).toEqual([
      [[both, own]],
      [[both, own]],
    ]);
  });
});

describe('a tenant whose reconciles fail alone', () => {
  it('is not seen in the age of the queue, which leaves out what was received often', () => {
    const streams = ordinaryDay({ refreshEveryMinutes: 1 });
    streams.failingReconcile(faultBegins, { runMinutes: 0 });
    const late = alarmNamed('ReconcilesLate');
    expect(firstRinging(late, streams.of(metricOf(late)), { from: start, until: dayEnds })).toBeUndefined();
    const errors = alarmNamed('reconcileErrors');
    expect(
      firstRinging(errors, streams.of(metricOf(errors)), { from: start, until: dayEnds }),
    ).toBeUndefined();
  });
});
