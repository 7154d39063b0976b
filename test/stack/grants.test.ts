import { readFileSync } from 'node:fs';
import { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { ownFolders } from '../../lambda/core/store/rules/own-folders.ts';
import { handlerFiles, ownScopes } from '../../lambda/routes.ts';
import type { DeploymentSettingsInput } from '../../lib/settings/deployment-settings.ts';
import type { TestedSubject } from '../support/subject.ts';
import * as subjects from '../support/subjects.ts';
import { mayDo } from '../support/table-grants.ts';
import { grantsOf } from './grants-of.ts';
import { externalStore, templateOf } from './stack-template.ts';
import { trusting, writing } from './trusting.ts';

const countPartitions = ['TENANT#*', 'SHARDS#*', 'HISTORY#*', 'ALERT#*'];
const linkPartitions = ['MAPPED#*', 'LINK#*', 'PINNED#*'];
const pushPartitions = ['SEEN#*', 'UPLOAD#*', 'COPY#*', 'DOWNLOADS#*', 'PUBLIC#*', 'GRANT#*'];
const all = (...partitions: string[]) => partitions.sort().join(' and ');

/** The partitions of items that only some functions write, as docs/security.md names them. */
const itemKinds: Readonly<Record<string, string>> = {
  'webhook-items': 'WEBHOOK#*',
  'token-items': all('TOKEN#*', 'REQUEST#*', 'AUDIT#*'),
  'sign-in-items': all('LOGIN#*', 'TOKEN#*', 'REQUEST#*', 'INVITATION#*', 'DEVICE#*', 'AUDIT#*'),
  'session-items': all('LOGIN#*', 'TOKEN#*'),
  'known-items': 'TENANT#* and TOKEN#*',
  'token-use': 'TOKEN#*, attributes pk and sk and lastUsedAtMs',
  'upload-items': 'UPLOAD#*',
  'assembled-items': all('UPLOAD#*', 'TENANT#*'),
  'copy-items': 'COPY#*',
  'email-items': 'EMAIL#*',
  'count-items': all(...countPartitions),
  'push-items': all(...countPartitions, ...pushPartitions, ...linkPartitions),
  'file-items': all(...countPartitions, 'DOWNLOADS#*', 'PARTS#*'),
  'file-notes': all('AUDIT#*', 'REQUEST#*'),
  'lock-items': 'LOCKS#*',
  'lock-notes': 'AUDIT#* and GRANT#*',
  'link-items': all(...linkPartitions),
  'tenant-items': 'TENANT#*',
  'schedule-item': 'SCHEDULE',
  'alert-items': 'ALERT#* and EMAIL#*',
  'export-items': 'EXPORTS#*',
  'failure-item': 'FAILURES',
};

const bySubject = Object.values<TestedSubject>(subjects);
const besides = bySubject.flatMap((of) => of.beside ?? []);

const kinds: Readonly<Record<string, (cell: string) => string | string[]>> = {
  table: (action) => `dynamodb:${action} on DataTable`,
  ...Object.fromEntries(
    Object.entries(itemKinds).map(([kind, partitions]) => [
      kind,
      (action: string) => `dynamodb:${action} on DataTable, partitions ${partitions}`,
    ]),
  ),
  index: (name) => `dynamodb:Query on DataTable/index/${name}`,
  objects: (action) => `s3:${action} on ObjectStorageBucket/*/*${action === 'DeleteObject' ? '' : '/*'}`,
  bucket: (action) => `s3:${action} on ObjectStorageBucket`,
  archives: (action) => `s3:${action} on ObjectStorageBucket/_exports/*`,
  requests: (action) => `s3:${action} on ObjectStorageBucket/_exports/*/*/work/request.json`,
  webhooks: (action) => `sqs:${action} on WebhookWorkQueue`,
  copies: (action) => `sqs:${action} on CopyWorkQueue`,
  emails: (action) => `sqs:${action} on EmailWorkQueue`,
  ses: (action) =>
    [
      'identity/quota@example.com',
      'identity/example.com',
      'configuration-set/EmailFeedbackConfigurationSet',
    ].map(
      (each) =>
        `ses:${action} on arn:AWS::Partition:ses:AWS::Region:AWS::AccountId:${each}, from quota@example.com`,
    ),
  bus: (action) =>
    `events:${action} on arn:AWS::Partition:events:AWS::Region:AWS::AccountId:event-bus/default`,
  'reachable-sets': (action) => `s3:${action} on ObjectStorageBucket/_gc/*/*/keep-*`,
  candidates: (action) => `s3:${action} on ObjectStorageBucket/_gc/*/*/*/candidates-*`,
  exports: (action) => `sqs:${action} on ExportWorkQueue`,
  'usage-files': (action) => `s3:${action} on ObjectStorageBucket/_usage/*`,
  names: (action) => `s3:${action} on ObjectStorageBucket/_names/*`,
  chunk: (action) => `s3:${action} on ObjectStorageBucket/_parts/*`,
  chunks: (action) => `sqs:${action} on ChunkWorkQueue`,
  queue: (action) => `sqs:${action} on ReconcileQueue`,
  events: (action) => `sqs:${action} on StoreEventsQueue`,
  'dead-letters': (name) => `sqs:GetQueueAttributes on ${name}DeadLetterQueue`,
  secrets: (name) => `secretsmanager:GetSecretValue on ${name === 'admin token' ? 'AdminTokenSecret' : name}`,
};

/** The list of grants in docs/security.md (`function: kind grant, grant; kind grant.`), in the form of grantsOf. */
function documentedGrants(): Map<string, string[]> {
  const text = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');
  const [, section = ''] = text.split('\n## What each function can do\n');
  const items = section.replace(/\n {2}/g, ' ').matchAll(/^(\w+): (.*)\.$/gm);
  return new Map(
    [...items].map(([, name = '', what = '']) => {
      const parts = what === 'nothing' ? [] : what.split('; ');
      const lines = parts.flatMap((part) => {
        const [kind = '', ...rest] = part.split(' ');
        const line = kinds[kind];
        if (line === undefined) throw new Error(`docs/security.md has an unknown kind of grant: ${kind}.`);
        return rest.join(' ').split(', ').flatMap(line);
      });
      const ownLog = ['CreateLogStream', 'PutLogEvents'].map((each) => `logs:${each} on Functions${name}Log`);
      return [name, [...lines, ...ownLog].sort()];
    }),
  );
}

/** On the queues of the store's events, e-mails and copies, or those of their dead letters. */
const isOfEvents = (line: string) => / on (StoreEvents|EmailWork|CopyWork)(DeadLetter)?Queue$/.test(line);

describe('grants', () => {
  let template: Template;
  let grants: Map<string, string[]>;

  beforeAll(() => {
    const email = { from: 'quota@example.com' };
    template = templateOf({ storeEvents: true, email, ...trusting, ...writing });
    grants = grantsOf(template);
  });

  it.each(Object.keys(handlerFiles))('of %s are those in docs/security.md', (name) => {
    expect(grants.get(name)).toEqual(documentedGrants().get(name));
  });

  it('are the same without store events, e-mail, git hosts and files of usage, except for their functions, on their queues, and on the store', () => {
    const {
      storeEvents: _,
      sendEmail: __,
      copyObject: ___,
      ...usual
    } = Object.fromEntries(
      [...grants].map(([name, lines]) => [
        name,
        lines.filter((line) => !isOfEvents(line) && !(name === 'refresh' && line.startsWith('s3:'))),
      ]),
    );
    expect(Object.fromEntries(grantsOf(templateOf()))).toEqual(usual);
  });

  it('let what connects to addresses of tenants reach neither store nor secret, and no other queue', () => {
    const lines = grants.get('sendWebhook') ?? [];
    expect(lines.filter((line) => /^(s3|secretsmanager|lambda|events):/.test(line))).toEqual([]);
    expect(lines.filter((line) => line.startsWith('sqs:') && !line.endsWith('WebhookWorkQueue'))).toEqual([]);
    const receivers = [...grants].filter(([, all]) => all.includes('sqs:ReceiveMessage on WebhookWorkQueue'));
    expect(receivers.map(([name]) => name)).toEqual(['sendWebhook']);
  });

  it('let what copies from other servers reach nothing but its queue and its notes', () => {
    const lines = (grants.get('copyObject') ?? []).filter((line) => !line.startsWith('logs:'));
    expect(lines.filter((line) => !/ on (CopyWorkQueue|DataTable, partitions COPY#\*)$/.test(line))).toEqual(
      [],
    );
    const senders = [...grants].filter(([, all]) => all.includes('sqs:SendMessage on CopyWorkQueue'));
    expect(senders.map(([name]) => name)).toEqual(['lfsBatch']);
  });

  it('are none on the event bus if the stage publishes nothing', () => {
    const without = grantsOf(templateOf({ alerts: { eventBus: false } }));
    expect([...without.values()].flat().filter((line) => line.startsWith('events:'))).toEqual([]);
  });

  it('let only signIn read the secrets of apps at git hosts, and those alone', () => {
    const secret = (name: string) => `arn:aws:secretsmanager:eu-central-1:111122223333:secret:${name}-AbCdEf`;
    const url = 'https://git.example.com';
    const app = (name: string) => ({ clientId: 'app', clientSecretArn: secret(name) });
    const gitHosts = [
      { id: 'one', kind: 'gitea' as const, url, signIn: app('one') },
      { id: 'two', kind: 'gitlab' as const, url, signIn: app('two') },
      { id: 'three', kind: 'gitlab' as const, url, signIn: undefined },
    ];
    const settings = (hosts: readonly object[]) => ({ gitHosts: hosts }) as DeploymentSettingsInput;
    const withoutApps = gitHosts.map(({ signIn: _, ...host }) => host);
    const before = new Map(grantsOf(templateOf(settings(withoutApps))));
    const added = [...grantsOf(templateOf(settings(gitHosts)))].flatMap(([name, lines]) =>
      lines.filter((line) => !before.get(name)?.includes(line)).map((line) => [name, line]),
    );
    const read = (name: string) => ['signIn', `secretsmanager:GetSecretValue on ${secret(name)}`];
    expect(added.sort()).toEqual([read('one'), read('two')]);
  });

  it('let no function invoke another', () => {
    const holders = [...grants].filter(([, lines]) => lines.some((line) => line.startsWith('lambda:')));
    expect(holders.map(([name]) => name)).toEqual(['BackgroundSchedulerRole', 'CanaryRole']);
  });

  it('exist only for the functions, the schedule, and CodeDeploy, which moves two aliases and reads alarms', () => {
    const documented = [...documentedGrants().keys()];
    expect(documented.sort()).toEqual(Object.keys(handlerFiles).sort());
    const others = [...grants.keys()].filter((name) => !documented.includes(name));
    expect(others).toEqual(['BackgroundSchedulerRole', 'CanaryRole']);
    expect(grants.get('BackgroundSchedulerRole')).toEqual([
      'lambda:InvokeFunction on FunctionsrefreshFunctionAliaslive',
    ]);
    const moved = ['lfsBatch', 'lfsVerify'].flatMap((name) => [
      `Functions${name}Function`,
      `Functions${name}Function:live`,
    ]);
    const actions = ['GetAlias', 'GetProvisionedConcurrencyConfig', 'UpdateAlias'];
    expect(grants.get('CanaryRole')).toEqual([
      'cloudwatch:DescribeAlarms on *',
      ...actions.flatMap((action) => moved.map((name) => `lambda:${action} on ${name}`)).sort(),
    ]);
  });

  it('are all in inline policies, so that this comparison is complete', () => {
    template.resourceCountIs('AWS::IAM::Policy', 0);
    template.resourceCountIs('AWS::IAM::ManagedPolicy', 0);
    template.resourceCountIs('AWS::IAM::RolePolicy', 0);
    const policies = template.findResources('AWS::S3::BucketPolicy');
    expect(JSON.stringify(policies)).not.toContain('"Allow"');
  });

  const isOf = (folder: string) => (line: string) => line.includes(`/${folder}/`);
  const isOwn = (line: string) => Object.values(ownFolders).some((folder) => isOf(folder)(line));
  const holdersOf = (isHeld: (line: string) => boolean) =>
    [...grants].filter(([, lines]) => lines.some(isHeld)).map(([name]) => name);

  it('let only the batch function, what assembles uploads, what admits files and what deletes write objects, only reconcile delete them, and only below a tenant', () => {
    const writers = holdersOf((line) => line.startsWith('s3:PutObject') && !isOwn(line));
    expect(writers).toEqual(['reconcile', 'assembleUpload', 'files', 'lfsBatch']);
    const deleters = holdersOf((line) => line.startsWith('s3:DeleteObject') && !isOwn(line));
    expect(deleters).toEqual(['reconcile']);
    const onObjects = [...grants.values()].flat().filter((line) => /^s3:\w+Object /.test(line));
    expect(onObjects.filter((line) => !line.endsWith('/*/*/*') && !isOwn(line))).toEqual([
      's3:DeleteObject on ObjectStorageBucket/*/*',
    ]);
  });

  it.each(besides)(
    'let only the functions of its subject reach $folder, and each only its part',
    ({ folder, reached, keys }) => {
      const lines = [...grants].flatMap(([name, held]) =>
        held.filter(isOf(folder)).map((line) => `${name} ${line}`),
      );
      expect(lines.sort()).toEqual(
        reached.map(([name, action, below]) => `${name} s3:${action} on ObjectStorageBucket/${below}`).sort(),
      );
      for (const [key, pattern] of keys) expect(key).toMatch(pattern);
    },
  );

  it('name each folder beside objects', () => {
    const folders = Object.values(ownScopes).map(({ below }) => below.split('/')[1]);
    // Of AWS's store nothing has to be proven.
    const { proofs: _, ...granted } = ownFolders;
    expect([...new Set(folders)].sort()).toEqual(Object.values(granted).sort());
  });

  it('let only reconcile receive reconciles from the queue, and delay their redelivery', () => {
    for (const action of ['ReceiveMessage', 'DeleteMessage', 'ChangeMessageVisibility']) {
      const holders = [...grants].filter(([, lines]) => lines.includes(`sqs:${action} on ReconcileQueue`));
      expect(holders.map(([name]) => name)).toEqual(['reconcile']);
    }
  });

  it('let only management look at dead letters, and nobody read or send them', () => {
    const lines = [...grants].flatMap(([name, held]) =>
      held.filter((line) => line.endsWith('DeadLetterQueue')).map((line) => `${name} ${line.split(' ')[0]}`),
    );
    expect(new Set(lines)).toEqual(new Set(['management sqs:GetQueueAttributes']));
    expect(lines).toHaveLength(7);
  });

  it('have no wildcard except for objects in the bucket, and for items of some kinds', () => {
    const wild = [...grants].flatMap(([name, lines]) =>
      lines
        .filter((line) => line.includes('*') && !isOwn(line) && !line.startsWith('dynamodb:'))
        .map((line) => ({ name, line })),
    );
    const others = wild.filter(({ line }) => !/ on ObjectStorageBucket(\/\*){2,3}$/.test(line));
    expect(others).toEqual([{ name: 'CanaryRole', line: 'cloudwatch:DescribeAlarms on *' }]);
  });

  it('let each function write items of a few kinds, and only two of any kind', () => {
    const kindOf = new Map(Object.entries(itemKinds).map(([kind, partitions]) => [partitions, kind]));
    const written = [...grants].flatMap(([name, lines]) => {
      const wheres = lines.flatMap((line) => {
        const [, where] =
          /^dynamodb:(?:Put|Update|Delete)Item on DataTable(?:, partitions (.+))?$/.exec(line) ?? [];
        return /^dynamodb:(?:Put|Update|Delete)Item/.test(line) ? [where ? kindOf.get(where) : 'any'] : [];
      });
      return wheres.length > 0 ? [[name, [...new Set(wheres)].sort()]] : [];
    });
    const ofSubjects = bySubject.flatMap((of) => Object.entries(of.functions ?? {}));
    expect(Object.fromEntries(written)).toEqual({
      lfsBatch: ['push-items', 'token-use'],
      getSubscription: ['count-items', 'token-use'],
      signIn: ['session-items', 'sign-in-items'],
      management: ['any'],
      reconcile: ['any'],
      refresh: ['alert-items', 'schedule-item'],
      storeEvents: ['tenant-items'],
      ...Object.fromEntries(ofSubjects.map(([name, { writes }]) => [name, writes])),
    });
    // A token that manages a tenant is made by these alone.
    const makers = [...grants].filter(([, lines]) =>
      lines.some((line) =>
        /^dynamodb:(?:Put|Update)Item on DataTable(?:$|, partitions (?:.* )?TOKEN#\*(?!, attributes))/.test(
          line,
        ),
      ),
    );
    expect(makers.map(([name]) => name).sort()).toEqual([
      'exchangeToken',
      'management',
      'reconcile',
      'signIn',
    ]);
  });

  it('let the black-box tests do on the table what AWS lets a function do', () => {
    const [TableName, Key] = ['table', { pk: 'TENANT#acme', sk: 'TENANT' }];
    expect(mayDo('storeEvents', 'PutItem', { TableName, Item: Key })).toBe(true);
    expect(mayDo('storeEvents', 'DeleteItem', { TableName, Key })).toBe(false);
    expect(mayDo('health', 'GetItem', { TableName, Key })).toBe(false);
  });

  it('differ from docs/security.md if one is widened', () => {
    const widened = structuredClone(template.toJSON());
    const [, role] =
      Object.entries(widened['Resources']).find(([id]) => /^FunctionslfsVerifyRole/.test(id)) ?? [];
    const [policy] = (role as { Properties: { Policies: { PolicyDocument: { Statement: unknown[] } }[] } })
      .Properties.Policies;
    policy?.PolicyDocument.Statement.push({ Effect: 'Allow', Action: 's3:PutObject', Resource: '*' });
    expect(grantsOf(Template.fromJSON(widened)).get('lfsVerify')).not.toEqual(
      documentedGrants().get('lfsVerify'),
    );
  });
});

describe('grants with an external store', () => {
  it('replace S3 by the secret with the credentials of the store', () => {
    const external = grantsOf(templateOf({ objectStore: externalStore, ...writing }));
    for (const [name, documented] of documentedGrants()) {
      if (['storeEvents', 'sendEmail', 'copyObject'].includes(name)) continue;
      const reachesStore = documented.some((line) => line.startsWith('s3:'));
      const expected = [
        ...documented.filter((line) => !line.startsWith('s3:') && !isOfEvents(line)),
        ...(reachesStore ? [`secretsmanager:GetSecretValue on ${externalStore.credentialsSecretArn}`] : []),
      ];
      expect(external.get(name)).toEqual(expected.sort());
    }
  });
});
