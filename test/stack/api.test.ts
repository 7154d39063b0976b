import { Match, type Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { functionSpecs, routes } from '../../lambda/routes.ts';
import { checkedPath } from '../../lib/api.ts';
import { fileOfLastRelease } from '../support/last-release.ts';
import { expectRefused, templateOf } from './stack-template.ts';

interface RouteResource {
  readonly Properties: { readonly RouteKey: string; readonly Target: unknown };
}

const ownDomain = {
  name: 'lfs.example.com',
  certificateArn: 'arn:aws:acm:eu-central-1:111122223333:certificate/0a1b',
};

/** Places at which paths have variables of several names. */
function conflictsIn(paths: readonly string[]): string[] {
  const names = new Map<string, Set<string>>();
  for (const path of paths) {
    let place = '';
    for (const segment of path.replace(/^\w+ /, '').split('/').slice(1)) {
      place += '/';
      if (segment.startsWith('{')) names.set(place, (names.get(place) ?? new Set()).add(segment));
      place += segment.startsWith('{') ? '{}' : segment;
    }
  }
  return [...names].flatMap(([place, found]) =>
    found.size > 1 ? [`${place}: ${[...found].join(' ')}`] : [],
  );
}

describe('the API', () => {
  let template: Template;
  let deployed: RouteResource['Properties'][];

  beforeAll(() => {
    template = templateOf();
    const found = template.findResources('AWS::ApiGatewayV2::Route') as unknown as Record<
      string,
      RouteResource
    >;
    deployed = Object.values(found).map((each) => each.Properties);
  });

  it('has the routes of the route table, and $default', () => {
    const expected = [...routes.map(({ method, path }) => `${method} ${path}`), '$default'];
    expect(deployed.map((route) => route.RouteKey).sort()).toEqual(expected.sort());
  });

  it('sends each route to its function', () => {
    for (const route of [...routes, { method: '$default', path: '', function: 'notFound' }]) {
      const key = `${route.method} ${route.path}`.trim();
      const target = JSON.stringify(deployed.find((each) => each.RouteKey === key)?.Target);
      const integration = /"Ref":"(?<id>\w+)"/.exec(target)?.groups?.['id'] ?? '';
      const uri = template.toJSON()['Resources'][integration].Properties.IntegrationUri;
      expect(uri, key).toEqual({
        Ref: expect.stringMatching(`^Functions${route.function}FunctionAliaslive[0-9A-F]{8}$`),
      });
    }
  });

  it('is named as its stack is, so that an account with several stages can tell them apart', () => {
    template.hasResourceProperties('AWS::ApiGatewayV2::Api', { Name: 'lfs-quota-test' });
  });

  it('has integrations with ids that no other route can move', () => {
    const functions = new Set([...routes.map((route) => route.function), 'notFound']);
    const ids = Object.keys(template.findResources('AWS::ApiGatewayV2::Integration'));
    expect(ids.map((id) => id.replace(/[0-9A-F]{8}$/, '')).sort()).toEqual(
      [...functions].map((name) => `ApiIntegrations${name}`).sort(),
    );
  });

  it('can invoke each function on all of its routes by one permission, and that of $default by any', () => {
    const permissions = Object.values(template.findResources('AWS::Lambda::Permission')).map(
      ({ Properties: { FunctionName, SourceArn } }) => {
        const name = /^Functions(\w+?)FunctionAliaslive[0-9A-F]{8}$/.exec(FunctionName.Ref)?.[1];
        return [name, SourceArn['Fn::Join'][1].at(-1)];
      },
    );
    const functions = new Set(routes.map((route) => route.function));
    expect(permissions.sort()).toEqual(
      [...[...functions].map((name) => [name, '/*/*/*']), ['notFound', '/*/*']].sort(),
    );
  });

  it('has only segments that API Gateway accepts: a literal or one whole variable', () => {
    for (const { RouteKey } of deployed.filter((route) => route.RouteKey !== '$default')) {
      const segments = RouteKey.split(' ')[1]?.split('/').slice(1) ?? [];
      if (RouteKey === 'GET /') continue;
      for (const segment of segments) expect(segment).toMatch(/^(?:[a-z0-9.-]+|\{[A-Za-z]+\})$/);
    }
  });

  it.each(['/{repo}.git/info', '/a/{b}{c}', '/a//b', 'a', '/a/', '/{}', '/{a-b}'])(
    'rejects the path %s',
    (path) => {
      expect(() => checkedPath({ method: 'GET', path })).toThrow('every segment must be');
    },
  );

  /** Of the last release, too: a route that is renamed is created before the old one goes. */
  async function everyPath(): Promise<{ old: string[]; now: string[] }> {
    const source = await fileOfLastRelease('lambda/routes.ts');
    const old = [...source.matchAll(/\{ method: '(\w+)', path: '([^']+)'/g)].map(
      ([, method, path]) => `${method} ${path}`,
    );
    return { old, now: routes.map(({ method, path }) => `${method} ${path}`) };
  }

  it('has no two names for a variable at one place, which API Gateway refuses', async () => {
    const { old, now } = await everyPath();
    expect(conflictsIn([...old, ...now])).toEqual([]);
  });

  it.each([
    [['GET /v1/tenants/{tenant}', 'GET /v1/tenants/{name}/repos'], ['/v1/tenants/: {tenant} {name}']],
    [['GET /{a}/x/{b}', 'PUT /{a}/x/{c}/d'], ['/{}/x/: {b} {c}']],
    [['GET /{a}/x/{b}', 'PUT /{a}/y/{c}', 'GET /x/{d}', 'GET /v1/{e}'], []],
  ])('knows which of %j conflict', (paths, conflicts) => {
    expect(conflictsIn(paths)).toEqual(conflicts);
  });

  it('has each route of the last release: API Gateway would keep the limit of one that is removed, and then change no stage', async () => {
    const { old, now } = await everyPath();
    expect(old.length).toBeGreaterThan(50);
    expect(old.filter((route) => !now.includes(route))).toEqual([]);
  });

  const stageOf = (of: Template) => Object.values(of.findResources('AWS::ApiGatewayV2::Stage'))[0] ?? {};

  it('gives each route a limit of its own: LFS routes the most, those that need no token little, management least', () => {
    const { DefaultRouteSettings, RouteSettings } = stageOf(template)['Properties'];
    const lfs = { ThrottlingRateLimit: 100, ThrottlingBurstLimit: 1000 };
    const other = { ThrottlingRateLimit: 50, ThrottlingBurstLimit: 100 };
    const management = { ThrottlingRateLimit: 10, ThrottlingBurstLimit: 100 };
    const admitting = Object.values(functionSpecs).flatMap(({ does, routes: own = [] }) =>
      does?.includes('admits') ? own : [],
    );
    const every = Object.fromEntries(
      routes.map(({ method, path }) => [`${method} ${path}`, management] as const),
    );
    expect(RouteSettings).toEqual({
      ...every,
      'POST /{tenant}/{repo}/info/lfs/objects/batch': lfs,
      'POST /{tenant}/{repo}/info/lfs/objects/copies': lfs,
      'POST /{tenant}/{repo}/info/lfs/verify': lfs,
      'GET /{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}': lfs,
      'POST /{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}': lfs,
      'POST /{tenant}/{repo}/info/lfs/locks': lfs,
      'GET /{tenant}/{repo}/info/lfs/locks': lfs,
      'POST /{tenant}/{repo}/info/lfs/locks/verify': lfs,
      'POST /{tenant}/{repo}/info/lfs/locks/{lockId}/unlock': lfs,
      // The files API.
      ...Object.fromEntries(admitting.map((route) => [route, lfs])),
      'GET /': other,
      'GET /assets/{file}': other,
      'GET /health': other,
      'GET /openapi.json': other,
      'POST /v1/tenants/{tenant}/exchange': other,
      'POST /v1/invitations/accept': other,
      'POST /v1/console-links/open': other,
      'POST /v1/device': other,
      'GET /sign-in/{host}': other,
      'GET /v1/sign-in': other,
      'POST /v1/sign-in': other,
      'POST /v1/sign-in/finish': other,
      'GET /v1/tenants/{tenant}/subscription': other,
      $default: other,
    });
    expect(DefaultRouteSettings).toEqual(other);
  });

  it('limits routes only when they exist, as API Gateway requires', () => {
    const needed: string[] = stageOf(template)['DependsOn'];
    const routeIds = Object.keys(template.findResources('AWS::ApiGatewayV2::Route'));
    expect(routeIds.filter((id) => !needed.includes(id))).toEqual([]);
  });

  it('has the limits of the stage, down to none', () => {
    const throttle = {
      requestsPerSecond: 0,
      burst: 0,
      otherRequestsPerSecond: 7,
      otherBurst: 8,
      managementRequestsPerSecond: 5,
      managementBurst: 6,
    };
    const limits = stageOf(templateOf({ throttle }))['Properties'].RouteSettings;
    const closed = { ThrottlingRateLimit: 0, ThrottlingBurstLimit: 0 };
    expect(limits['POST /{tenant}/{repo}/info/lfs/objects/batch']).toEqual(closed);
    expect(limits['$default']).toEqual({ ThrottlingRateLimit: 7, ThrottlingBurstLimit: 8 });
    expect(limits['GET /v1/tenants']).toEqual({ ThrottlingRateLimit: 5, ThrottlingBurstLimit: 6 });
  });

  it('takes no more requests than all routes together', () => {
    const limits = Object.values<{ ThrottlingRateLimit: number }>(
      stageOf(template)['Properties'].RouteSettings,
    );
    const total = limits.reduce((sum, { ThrottlingRateLimit }) => sum + ThrottlingRateLimit, 0);
    expect(total).toBe(16 * 100 + 14 * 50 + (routes.length - 16 - 13) * 10);
    expect(total).toBe(3_080);
  });

  it('can be reached by IPv6, also by its own domain', () => {
    for (const settings of [{}, { domain: { ...ownDomain, keepDefaultUrl: true } }])
      templateOf(settings).hasResourceProperties('AWS::ApiGatewayV2::Api', { IpAddressType: 'dualstack' });
    templateOf({ domain: { ...ownDomain, keepDefaultUrl: true } }).hasResourceProperties(
      'AWS::ApiGatewayV2::DomainName',
      {
        DomainNameConfigurations: [Match.objectLike({ IpAddressType: 'dualstack' })],
      },
    );
  });

  it('counts the 429 that the gateway answers itself, and alarms', () => {
    const [, accessLog] =
      /"(ApiAccessLog\w+)"/.exec(JSON.stringify(stageOf(template)['Properties'].AccessLogSettings)) ?? [];
    template.hasResourceProperties('AWS::Logs::MetricFilter', {
      LogGroupName: { Ref: accessLog },
      FilterPattern: '{ ($.status = "429") && ($.integrationLatencyMs = "-") }',
      MetricTransformations: [
        { MetricName: 'RequestsThrottled', MetricNamespace: 'lfs-quota-test', MetricValue: '1' },
      ],
    });
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      MetricName: 'RequestsThrottled',
      Namespace: 'lfs-quota-test',
    });
  });

  it('counts the 5xx that are failures, and alarms', () => {
    template.hasResourceProperties('AWS::Logs::MetricFilter', {
      FilterPattern: '{ ($.status = "5*") && ($.status != "509") }',
      MetricTransformations: [
        { MetricName: 'RequestsFailed', MetricNamespace: 'lfs-quota-test', MetricValue: '1' },
      ],
    });
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      MetricName: 'RequestsFailed',
      Namespace: 'lfs-quota-test',
    });
  });

  it('logs neither query strings nor headers', () => {
    const format = JSON.parse(stageOf(template)['Properties'].AccessLogSettings.Format);
    expect(Object.values(format).sort()).toEqual([
      '$context.httpMethod',
      '$context.identity.sourceIp',
      '$context.integrationErrorMessage',
      '$context.integrationLatency',
      '$context.path',
      '$context.requestId',
      '$context.requestTime',
      '$context.responseLatency',
      '$context.responseLength',
      '$context.routeKey',
      '$context.status',
    ]);
  });

  it('passes requests on in payload format 2.0', () => {
    template.allResourcesProperties('AWS::ApiGatewayV2::Integration', {
      IntegrationType: 'AWS_PROXY',
      PayloadFormatVersion: '2.0',
    });
  });

  it('allows another web origin only if a setting names it', () => {
    template.hasResourceProperties('AWS::ApiGatewayV2::Api', { CorsConfiguration: Match.absent() });
    templateOf({ corsOrigins: ['https://console.example.com'] }).hasResourceProperties(
      'AWS::ApiGatewayV2::Api',
      {
        CorsConfiguration: {
          AllowOrigins: ['https://console.example.com'],
          AllowHeaders: ['authorization', 'content-type', 'idempotency-key'],
          ExposeHeaders: ['apigw-requestid', 'location', 'retry-after'],
          AllowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
          // Nor is the header allowed with which a session counts.
          AllowCredentials: Match.absent(),
        },
      },
    );
  });

  it('answers on its own domain if one is set', () => {
    const own = templateOf({ domain: { ...ownDomain, keepDefaultUrl: true } });
    own.hasResourceProperties('AWS::ApiGatewayV2::DomainName', {
      DomainName: 'lfs.example.com',
      DomainNameConfigurations: [Match.objectLike({ CertificateArn: ownDomain.certificateArn })],
    });
    own.hasResourceProperties('AWS::ApiGatewayV2::ApiMapping', { DomainName: Match.anyValue() });
    own.hasOutput('ApiUrl', { Value: 'https://lfs.example.com' });
  });

  it('can be reached by its own URL, beside a domain as its setting says', () => {
    const isClosed = (settings: Parameters<typeof templateOf>[0]) =>
      Object.values(templateOf(settings).findResources('AWS::ApiGatewayV2::Api'))[0]?.['Properties']
        .DisableExecuteApiEndpoint;
    expect(isClosed({ domain: { ...ownDomain, keepDefaultUrl: true } })).toBeUndefined();
    expect(isClosed({ domain: { ...ownDomain, keepDefaultUrl: false } })).toBe(true);
    expect(isClosed({})).toBeUndefined();
  });

  it('has no domain of which nobody said whether its own URL stays open: an upgrade may neither open nor close it', () => {
    expectRefused(
      { domain: ownDomain },
      /domain\.keepDefaultUrl: must be set: true if you add the domain now, false once .*: false keeps that/,
    );
  });

  it('tells the functions that answer links where clients reach the API, if something stands before it', () => {
    const publicUrl = 'https://lfs.example.com';
    const urls = (template: Template) =>
      Object.values(template.findResources('AWS::Lambda::Function')).flatMap(
        ({ Properties: { Environment } }) => Environment?.Variables?.LFS_QUOTA_PUBLIC_URL ?? [],
      );
    expect(urls(templateOf({ publicUrl }))).toEqual(Array.from({ length: 4 }, () => publicUrl));
    expect(urls(template)).toEqual([]);
    templateOf({ publicUrl }).hasOutput('ApiUrl', { Value: publicUrl });
  });
});
