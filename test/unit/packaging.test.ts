import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { commandsOf } from '../../cli/help.ts';
import { docBlocks } from '../support/doc-blocks.ts';
import { programForTest } from './cli/harness.ts';

const read = (name: string) => readFileSync(new URL(`../../packaging/${name}`, import.meta.url), 'utf8');
const files = [
  'Caddyfile',
  'Dockerfile',
  'compose.yaml',
  'lfs-quota.service',
  'kubernetes.yaml',
  'nginx.conf',
];
const serve = commandsOf(programForTest()).find(({ words }) => words === 'serve');
const known = new Set([
  ...(serve?.command.options ?? []).flatMap(({ envVar }) => envVar ?? []),
  'LFS_QUOTA_ADMIN_TOKEN',
  'LFS_QUOTA_SMTP',
  'LFS_QUOTA_EMAIL_FROM',
]);

describe.each(files)('%s', (name) => {
  it('sets only what the server knows', () => {
    const host = /Caddyfile|compose/.test(name) ? ['LFS_QUOTA_HOST', 'LFS_QUOTA_SERVER'] : [];
    const named = [...read(name).matchAll(/LFS_QUOTA_[A-Z_]+/g)].map(([variable]) => variable);
    expect(named.filter((variable) => !known.has(variable) && !host.includes(variable))).toEqual([]);
  });
});

it('names each variable of the server in docs/serve.md', () => {
  const page = readFileSync(new URL('../../docs/serve.md', import.meta.url), 'utf8');
  expect([...known].filter((variable) => !page.includes(`\`${variable}\``))).toEqual([]);
});

describe('the image', () => {
  it('runs as nobody special, and is asked whether it answers', () => {
    const text = read('Dockerfile');
    expect(text).toMatch(/^USER 1000:1000$/m);
    expect(text).toMatch(/^VOLUME \/data$/m);
    // A full disk is no reason to end it: downloads work.
    expect(text).toMatch(/^HEALTHCHECK .*\n.*9090\/live/m);
  });

  it('of compose has a read-only root, and trusts the proxy of its own network alone', () => {
    const { services, networks } = parse(read('compose.yaml'));
    const { read_only, cap_drop, ports, environment } = services['lfs-quota'];
    expect({ read_only, cap_drop, ports }).toEqual({ read_only: true, cap_drop: ['ALL'], ports: undefined });
    const [{ subnet }] = networks.inside.ipam.config;
    expect(environment.LFS_QUOTA_TRUST_PROXY).toBe(subnet);
  });

  it('of Kubernetes is one pod with a volume, never a rolling update', () => {
    const parts = parseAllDocuments(read('kubernetes.yaml')).map((document) => document.toJS());
    expect(parts.map(({ kind }) => kind)).toEqual(['Service', 'StatefulSet']);
    const { spec } = parts[1];
    expect(spec.replicas).toBe(1);
    const { containers, securityContext, terminationGracePeriodSeconds } = spec.template.spec;
    expect(securityContext.runAsNonRoot).toBe(true);
    // Longer than the server waits for what runs.
    expect(terminationGracePeriodSeconds).toBeGreaterThan(33);
    // A full disk is no reason to send nobody there: downloads work.
    expect(containers[0].readinessProbe.httpGet).toEqual({ path: '/live', port: 'metrics' });
    expect(containers[0].livenessProbe.httpGet).toEqual({ path: '/live', port: 'metrics' });
  });
});

it.each(['Caddyfile', 'nginx.conf'])('%s is shown in docs/serve.md, and is the one of compose', (name) => {
  const shown = docBlocks('docs/serve.md').find(
    ({ language }) => language === name.replace('.conf', '').toLowerCase(),
  );
  expect(shown?.text).toBe(read(name));
  const { proxy } = parse(read('compose.yaml')).services;
  expect(proxy.volumes).toContain('./Caddyfile:/etc/caddy/Caddyfile:ro');
});

it('a proxy waits longer for a restart than the server for what runs', () => {
  const text = readFileSync(new URL('../../local/serve.ts', import.meta.url), 'utf8');
  const [grace = 0, drain = 0] = ['graceMs', 'drainMs'].map((name) =>
    Number(new RegExp(`const ${name} = ([\\d_]+);`).exec(text)?.[1]?.replace('_', '')),
  );
  // nginx gives up at the tenth internal redirect: every other one waits.
  const nginx = 5 * Number(/resolver_timeout (\d+)s/.exec(read('nginx.conf'))?.[1]);
  const caddy = Number(/lb_try_duration (\d+)s/.exec(read('Caddyfile'))?.[1]);
  // It needs some for its start.
  for (const waitS of [nginx, caddy]) expect(waitS * 1000).toBeGreaterThanOrEqual(grace + drain + 4000);
});

it('nginx logs no query strings: those of signed URLs give access', () => {
  const [, format = ''] = /log_format lfs '(.*)';/.exec(read('nginx.conf')) ?? [];
  expect(format).toContain('$uri');
  expect(format).not.toMatch(/\$(request|request_uri|args|query_string|http_referer)\b(?!_)/);
});

it('the unit of systemd may write to its own folder alone', () => {
  const text = read('lfs-quota.service');
  for (const line of ['DynamicUser=yes', 'StateDirectory=lfs-quota', 'ProtectSystem=strict', 'UMask=0077'])
    expect(text.split('\n')).toContain(line);
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])).toBeGreaterThan(33);
});
