import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { type FunctionName, handlerFiles } from '../../lambda/routes.ts';
import { metricsNamespace } from '../monitoring/custom-metrics.ts';
import type { StageSettings } from '../settings/stage-settings.ts';
import { environmentFor, type FunctionResources, statementsFor } from './function-resources.ts';
import { functionSpecs } from './function-specs.ts';
import { HandlerFunction } from './handler-function.ts';

export interface FunctionsProps {
  readonly settings: StageSettings;
  readonly resources: FunctionResources;
}

const descriptions: Readonly<Record<FunctionName, string>> = {
  health: 'Answers that the API is up.',
  notFound: 'Answers what matches no route.',
  lfsBatch: 'Git LFS batch: admits uploads within the limit, signs URLs.',
  lfsVerify: 'Git LFS verify: asks the store whether an upload arrived.',
  getSubscription: "A tenant's limit and usage.",
  management: 'Tenants, limits, tokens and deletes.',
  reconcile: 'Recounts a tenant from what the store lists; deletes what is due.',
  refresh: 'Queues the recounts that are due.',
  storeEvents: 'Notes what changed in the bucket, and asks for recounts.',
};

/** The functions that a stage has: all of the route table, but for what its settings leave out. */
export function functionNamesOf(settings: Pick<StageSettings, 'storeEvents'>): FunctionName[] {
  const names = Object.keys(handlerFiles) as FunctionName[];
  return names.filter((name) => name !== 'storeEvents' || settings.storeEvents);
}

/** The functions of a stage, by their names in the route table. */
export class Functions extends Construct {
  readonly #byName: ReadonlyMap<FunctionName, HandlerFunction>;

  constructor(scope: Construct, id: string, props: FunctionsProps) {
    super(scope, id);
    this.#byName = new Map(functionNamesOf(props.settings).map((name) => [name, this.#build(name, props)]));
  }

  get(name: FunctionName): HandlerFunction {
    const found = this.#byName.get(name);
    if (found === undefined) throw new Error(`The stage has no function ${name}.`);
    return found;
  }

  entries(): ReadonlyMap<FunctionName, HandlerFunction> {
    return this.#byName;
  }

  #build(name: FunctionName, { settings, resources }: FunctionsProps): HandlerFunction {
    const needs = functionSpecs[name];
    return new HandlerFunction(this, name, {
      file: handlerFiles[name],
      description: descriptions[name],
      timeout:
        needs.timeoutSeconds === undefined
          ? Duration.minutes(settings.reconcile.timeoutMinutes)
          : Duration.seconds(needs.timeoutSeconds),
      memoryMb: settings.memoryMb[name],
      environment: {
        POWERTOOLS_LOG_LEVEL: settings.logLevel,
        POWERTOOLS_METRICS_NAMESPACE: metricsNamespace(this),
        ...environmentFor(needs, resources),
      },
      statements: statementsFor(needs, resources),
      logRetentionDays: settings.logRetentionDays,
      // A long recount goes on through the queue that it came from. Lambda would take that for a runaway loop
      // and drop it after 16 rounds; the queue bounds it to one message a tenant and delay.
      ...(name === 'reconcile' && { feedsItself: true }),
    });
  }
}
