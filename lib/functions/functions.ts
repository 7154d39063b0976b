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

/** The functions that a stage has: all of the route table, except those that its settings switch off. */
export function functionNamesOf(settings: Pick<StageSettings, 'storeEvents'>): FunctionName[] {
  const names = Object.keys(handlerFiles) as FunctionName[];
  return names.filter((name) => name !== 'storeEvents' || settings.storeEvents);
}

/** The functions of a stage, by name. */
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
    const spec = functionSpecs[name];
    return new HandlerFunction(this, name, {
      file: handlerFiles[name],
      description: spec.description,
      timeout:
        spec.timeoutSeconds === undefined
          ? Duration.minutes(settings.reconcile.timeoutMinutes)
          : Duration.seconds(spec.timeoutSeconds),
      memoryMb: settings.memoryMb[name],
      environment: {
        POWERTOOLS_LOG_LEVEL: settings.logLevel,
        POWERTOOLS_METRICS_NAMESPACE: metricsNamespace(this),
        ...environmentFor(spec, resources),
      },
      statements: statementsFor(spec, resources),
      logRetentionDays: settings.logRetentionDays,
      // A long recount continues with a new message in the queue that it came from. Lambda would stop that as a
      // runaway loop after 16 rounds. The queue bounds it: one message per tenant and delay.
      ...(name === 'reconcile' && { sendsToOwnQueue: true }),
    });
  }
}
