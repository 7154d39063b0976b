import { CfnOutput, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  CfnStage,
  CorsHttpMethod,
  DomainName,
  HttpApi,
  HttpMethod,
  type HttpRouteIntegrationBindOptions,
  HttpStage,
  IpAddressType,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { FilterPattern, type IFilterPattern, LogGroup, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { Construct, type IDependable } from 'constructs';
import {
  defaultRouteFunction,
  functionSpecs,
  type HttpFunction,
  pageAccess,
  type Route,
  routes,
} from '../lambda/routes.ts';
import type { Functions } from './functions/functions.ts';
import { metricsNamespace } from './monitoring/custom-metrics.ts';
import type { DeploymentSettings } from './settings/deployment-settings.ts';

interface ApiProps {
  readonly settings: DeploymentSettings;
  readonly functions: Functions;
}

/** What the access log records of a request. No query strings and no headers: they carry signatures and tokens. */
const accessLogFields = {
  requestId: '$context.requestId',
  time: '$context.requestTime',
  sourceIp: '$context.identity.sourceIp',
  method: '$context.httpMethod',
  path: '$context.path',
  routeKey: '$context.routeKey',
  status: '$context.status',
  responseBytes: '$context.responseLength',
  latencyMs: '$context.responseLatency',
  integrationLatencyMs: '$context.integrationLatency',
  integrationError: '$context.integrationErrorMessage',
};

/**
 * The HTTP API: one route for each line of the route table, and `$default` for all other requests.
 *
 * It has no authorizer, because an HTTP API's authorizer can't send the header that makes git ask for a
 * credential. Every handler except health and notFound checks the credential itself.
 */
export class Api extends Construct {
  readonly httpApi: HttpApi;
  readonly stage: HttpStage;
  /** Where clients reach it, without a slash at its end. */
  readonly url: string;
  /** Counts what the gateway itself answered with 429. Its metrics do not tell those from other 4xx. */
  readonly throttled: MetricFilter;
  /** Counts what failed: 5xx, but for a 509, which says that a tenant's downloads are used up. */
  readonly failed: MetricFilter;

  constructor(scope: Construct, id: string, { settings, functions }: ApiProps) {
    super(scope, id);
    const integration = integrationsOf(new Construct(this, 'Integrations'), functions);
    this.httpApi = new HttpApi(this, 'HttpApi', {
      apiName: Stack.of(this).stackName,
      createDefaultStage: false,
      ipAddressType: IpAddressType.DUAL_STACK,
      ...(settings.domain?.keepDefaultUrl === false && { disableExecuteApiEndpoint: true }),
      defaultIntegration: integration(defaultRouteFunction),
      ...corsFor(settings.corsOrigins),
    });
    const added = routes.flatMap((route) =>
      this.httpApi.addRoutes({
        path: checkedPath(route),
        methods: [HttpMethod[route.method]],
        integration: integration(route.function),
      }),
    );
    const accessLog = new LogGroup(this, 'AccessLog', {
      // API Gateway names each log group in a policy that the account has once, with room for a few dozen. Below this
      // prefix one line of it is for all. So this name is fixed, and has the stack's in it.
      logGroupName: `/aws/vendedlogs/${Stack.of(this).stackName}/access`,
      retention: settings.logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.stage = this.#defaultStage(settings, accessLog);
    this.#limitRoutes(settings, [...added, this.httpApi.node.findChild('DefaultRoute')]);
    this.throttled = this.#count('Throttled', accessLog, throttledPattern);
    this.failed = this.#count('Failed', accessLog, failedPattern);
    this.url = this.#url(settings);
    new CfnOutput(this, 'ApiUrl', { value: this.url }).overrideLogicalId('ApiUrl');
  }

  #defaultStage({ domain, throttle }: DeploymentSettings, accessLog: LogGroup): HttpStage {
    return new HttpStage(this, 'Stage', {
      httpApi: this.httpApi,
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: throttle.otherRequestsPerSecond, burstLimit: throttle.otherBurst },
      accessLogSettings: {
        destination: new LogGroupLogDestination(accessLog),
        format: AccessLogFormat.custom(JSON.stringify(accessLogFields)),
      },
      ...(domain && { domainMapping: { domainName: this.#domainName(domain) } }),
    });
  }

  /**
   * Gives each route a limit of its own: junk to one leaves the others alone, and all together have a known price.
   * AWS doesn't say whether the default of a stage is one limit for all routes without their own, or one for each.
   *
   * So no release can remove a route: API Gateway keeps what a removed route was given, and then refuses
   * every change of the stage ("Unable to find Route by key").
   *
   * @param added every route. Neither may a route be limited that does not exist yet.
   */
  #limitRoutes({ throttle }: DeploymentSettings, added: readonly IDependable[]): void {
    const resource = this.stage.node.defaultChild;
    if (!(resource instanceof CfnStage)) throw new Error('A stage is no longer one resource.');
    const limit = (ThrottlingRateLimit: number, ThrottlingBurstLimit: number) => ({
      ThrottlingRateLimit,
      ThrottlingBurstLimit,
    });
    const lfs = limit(throttle.requestsPerSecond, throttle.burst);
    const management = limit(throttle.managementRequestsPerSecond, throttle.managementBurst);
    const open = limit(throttle.otherRequestsPerSecond, throttle.otherBurst);
    const limitOf = (route: Route) => {
      if (isLfs(route.function) || functionSpecs[route.function].does?.includes('admits')) return lfs;
      // What the page of a sign-in asks needs no token.
      return route.function === 'management' && route.path !== '/v1/sign-in' ? management : open;
    };
    resource.routeSettings = Object.fromEntries([
      ...routes.map((route) => [`${route.method} ${route.path}`, limitOf(route)]),
      ['$default', open],
    ]);
    resource.node.addDependency(...added);
  }

  /** Counts the answers in the access log that fit a pattern. */
  #count(id: 'Failed' | 'Throttled', accessLog: LogGroup, filterPattern: IFilterPattern): MetricFilter {
    return new MetricFilter(this, id, {
      logGroup: accessLog,
      filterPattern,
      metricNamespace: metricsNamespace(this),
      metricName: `Requests${id}`,
    });
  }

  #domainName(domain: NonNullable<DeploymentSettings['domain']>): DomainName {
    const name = new DomainName(this, 'DomainName', {
      domainName: domain.name,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', domain.certificateArn),
      ipAddressType: IpAddressType.DUAL_STACK,
    });
    new CfnOutput(this, 'DomainTarget', {
      value: name.regionalDomainName,
      description: `Target for the CNAME or alias record of ${domain.name}.`,
    }).overrideLogicalId('DomainTarget');
    return name;
  }

  #url(settings: DeploymentSettings): string {
    if (settings.publicUrl !== undefined) return settings.publicUrl;
    return settings.domain === undefined ? this.httpApi.apiEndpoint : `https://${settings.domain.name}`;
  }
}

/** The gateway's own metric of 5xx has 509 in it. */
const failedPattern = FilterPattern.all(
  FilterPattern.stringValue('$.status', '=', '5*'),
  FilterPattern.stringValue('$.status', '!=', '509'),
);
/** A request that reached a function has a latency of its integration. What has none is logged as a hyphen. */
const throttledPattern = FilterPattern.all(
  FilterPattern.stringValue('$.status', '=', '429'),
  FilterPattern.stringValue('$.integrationLatencyMs', '=', '-'),
);

/** Take part in every push and fetch. */
const isLfs = (name: HttpFunction) => name.startsWith('lfs');

/** One integration per function, however many routes lead to it. */
function integrationsOf(
  scope: Construct,
  functions: Functions,
): (name: HttpFunction) => HttpLambdaIntegration {
  const made = new Map<HttpFunction, HttpLambdaIntegration>();
  return (name) => {
    const integration = made.get(name) ?? new FunctionIntegration(scope, name, functions);
    made.set(name, integration);
    return integration;
  };
}

/** An integration below a construct of its own. The CDK puts it below the first route that uses it, so its id would move. */
class FunctionIntegration extends HttpLambdaIntegration {
  readonly #scope: Construct;

  constructor(scope: Construct, name: HttpFunction, functions: Functions) {
    super(name, functions.get(name).live, {
      // A permission for each route would exceed what Lambda stores of a function, 20,480 bytes. One for all routes
      // doesn't fit the ARN of $default, which has a segment less.
      scopePermissionToRoute: name === defaultRouteFunction,
    });
    this.#scope = scope;
  }

  override _bindToRoute(options: HttpRouteIntegrationBindOptions): { readonly integrationId: string } {
    return super._bindToRoute({ ...options, scope: this.#scope });
  }
}

/**
 * API Gateway rejects a variable that shares its segment, such as `{repo}.git`, but only during a deployment.
 * This check fails at synth.
 * @throws {Error} when a segment is neither a literal nor one whole variable.
 */
export function checkedPath({ method, path }: Pick<Route, 'method' | 'path'>): string {
  if (path !== '/' && !/^(?:\/(?:[A-Za-z0-9._~-]+|\{[A-Za-z0-9_]+\}))+$/.test(path)) {
    throw new Error(`Route ${method} ${path}: every segment must be a literal or one whole variable.`);
  }
  return path;
}

function corsFor(origins: readonly string[]) {
  if (origins.length === 0) return {};
  return {
    corsPreflight: {
      allowOrigins: [...origins],
      allowHeaders: [...pageAccess.headers],
      exposeHeaders: [...pageAccess.exposedHeaders],
      allowMethods: pageAccess.methods.map((method) => CorsHttpMethod[method]),
      maxAge: Duration.seconds(pageAccess.maxAgeSeconds),
    },
  };
}
