import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { type FunctionName, handlerFiles } from '../../lambda/routes.ts';
import { metricsNamespace } from '../monitoring/custom-metrics.ts';
import type { StageSettings } from '../settings/stage-settings.ts';
import { environmentFor, type FunctionResources, statementsFor } from './function-resources.ts';
import { functionSpecs } from './function-specs.ts';
import { HandlerFunction } from './handler-function.ts';
import { stageJson } from './stage-json.ts';

export interface FunctionsProps {
  readonly settings: StageSettings;
  readonly resources: Omit<FunctionResources, 'scanShard'>;
}

type SwitchedSettings = Pick<StageSettings, 'storeEvents'> & {
  readonly exports: Pick<StageSettings['exports'], 'workers'>;
  readonly reconcile: Pick<StageSettings['reconcile'], 'shardWorkers'>;
};

/** The functions that a stage has: all of the route table, except those that its settings switch off. */
export function functionNamesOf({ storeEvents, reconcile, exports }: SwitchedSettings): FunctionName[] {
  const names = Object.keys(handlerFiles) as FunctionName[];
  const off = new Set<FunctionName>();
  if (!storeEvents) off.add('storeEvents');
  if (reconcile.shardWorkers === 0) off.add('scanShard');
  if (exports.workers === 0) off.add('exportArchive');
  return names.filter((name) => !off.has(name));
}

/** The functions of a stage, by name. */
export class Functions extends Construct {
  readonly #byName: ReadonlyMap<FunctionName, HandlerFunction>;

  constructor(scope: Construct, id: string, props: FunctionsProps) {
    super(scope, id);
    const names = functionNamesOf(props.settings);
    const workers = props.settings.reconcile.shardWorkers;
    // First, because another one's grant names it.
    const scanner = names.includes('scanShard') ? this.#build('scanShard', props, undefined) : undefined;
    const scanShard = scanner && { function: scanner.function, workers };
    this.#byName = new Map(
      names.map((name) => [
        name,
        name === 'scanShard' && scanner ? scanner : this.#build(name, props, scanShard),
      ]),
    );
  }

  get(name: FunctionName): HandlerFunction {
    const found = this.#byName.get(name);
    if (found === undefined) throw new Error(`The stage has no function ${name}.`);
    return found;
  }

  entries(): ReadonlyMap<FunctionName, HandlerFunction> {
    return this.#byName;
  }

  #build(
    name: FunctionName,
    { settings, resources: given }: FunctionsProps,
    scanShard: FunctionResources['scanShard'],
  ): HandlerFunction {
    const spec = functionSpecs[name];
    const resources = { ...given, scanShard };
    return new HandlerFunction(this, name, {
      file: handlerFiles[name],
      description: spec.description,
      timeout:
        spec.timeoutSeconds === undefined
          ? Duration.minutes(settings.reconcile.timeoutMinutes)
          : Duration.seconds(spec.timeoutSeconds),
      memoryMb: settings.memoryMb[name],
      reservedConcurrency: name === 'lfsBatch' ? settings.reservedConcurrency.lfsBatch : undefined,
      environment: {
        POWERTOOLS_LOG_LEVEL: settings.logLevel,
        POWERTOOLS_METRICS_NAMESPACE: metricsNamespace(this),
        ...environmentFor(spec, resources),
      },
      statements: statementsFor(spec, resources),
      define: stageJson(settings),
      logRetentionDays: settings.logRetentionDays,
      ...(spec.servesConsole && { servesConsole: true }),
      // A long recount continues with a new message in the queue that it came from. Lambda would stop that as a
      // runaway loop after 16 rounds. The queue bounds it: one message per tenant and delay. An export hands out its
      // work in the same way, and ends within a day.
      ...((name === 'reconcile' || name === 'exportArchive') && { sendsToOwnQueue: true }),
    });
  }
}
