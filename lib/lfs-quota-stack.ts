import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { AdminToken } from './admin-token.ts';
import { Api } from './api.ts';
import { Background } from './background.ts';
import { Data } from './data.ts';
import { ExportWork } from './export-work.ts';
import { Functions } from './functions/functions.ts';
import { Alarms } from './monitoring/alarms.ts';
import { Dashboard } from './monitoring/dashboard.ts';
import { ObjectStorage } from './object-storage.ts';
import { RecountQueue } from './queues.ts';
import { exportStoreOf } from './settings/export-store.ts';
import type { StageSettings } from './settings/stage-settings.ts';
import { StoreEvents } from './store-events.ts';
import { WebhookWork } from './webhook-work.ts';

export interface LfsQuotaStackProps extends StackProps {
  readonly settings: StageSettings;
}

/** Everything of one stage. Construct ids are a contract: renaming one replaces its resources, data included. */
export class LfsQuotaStack extends Stack {
  readonly storage: ObjectStorage;
  readonly adminToken: AdminToken;
  readonly functions: Functions;
  readonly api: Api;

  constructor(scope: Construct, id: string, { settings, ...props }: LfsQuotaStackProps) {
    super(scope, id, props);
    const { keepData, objectStore, restoredTableName, exports } = settings;
    const data = new Data(this, 'Data', { keepData, restoredTableName });
    this.storage = new ObjectStorage(this, 'ObjectStorage', {
      keepData,
      objectStore,
      archiveDays: exports.keepDays,
    });
    this.adminToken = new AdminToken(this, 'AdminToken', { keepData });
    const recounts = new RecountQueue(this, 'ReconcileQueue', { reconcile: settings.reconcile });
    const webhookWork = new WebhookWork(this, 'WebhookWork');
    const exportWork = exports.workers > 0 ? new ExportWork(this, 'ExportWork') : undefined;
    const storeEvents =
      settings.storeEvents && this.storage.bucket
        ? new StoreEvents(this, 'StoreEvents', { bucket: this.storage.bucket })
        : undefined;

    this.functions = new Functions(this, 'Functions', {
      settings,
      resources: {
        table: data.table,
        storage: this.storage,
        recountQueue: recounts.queue,
        webhookQueue: webhookWork.queue,
        exports: exportWork && {
          queue: exportWork.queue,
          store: exportStoreOf(objectStore),
          settings: exports,
        },
        storeEventsQueue: storeEvents?.queue,
        adminSecretArn: this.adminToken.secretArn,
        adoptedRepos: settings.adoptedRepos,
        eventBusArn: settings.warnings.eventBus
          ? this.formatArn({ service: 'events', resource: 'event-bus', resourceName: 'default' })
          : undefined,
        publicUrl: settings.publicUrl,
      },
    });
    const { functions } = this;
    this.api = new Api(this, 'Api', { settings, functions });
    new Background(this, 'Background', { settings, functions, queue: recounts.queue });
    webhookWork.deliverTo(functions);
    exportWork?.deliverTo(functions, { workers: exports.workers });
    storeEvents?.deliverTo(functions.get('storeEvents').function);

    const { api } = this;
    const queues = { recounts, webhookWork, exportWork, storeEvents };
    const alarms = new Alarms(this, 'Alarms', { settings, functions, ...queues, api });
    new Dashboard(this, 'Dashboard', { functions, data, ...queues, alarms, api });
  }
}
