import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import * as replacement from '../../../../lib/functions/bundled/no-endpoint-discovery.ts';

/** The client of DynamoDB as it is bundled: path → text of each of its ES modules. */
const folder = fileURLToPath(new URL('.', import.meta.resolve('@aws-sdk/client-dynamodb/package.json')));
const modules = readdirSync(`${folder}dist-es`, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.js'))
  .map((file) => ({ file, text: readFileSync(`${folder}dist-es/${file}`, 'utf8') }));

it('the client of DynamoDB imports only what is replaced, and no command discovers its endpoint', () => {
  const importing = modules.filter(({ text }) => text.includes('@aws-sdk/middleware-endpoint-discovery'));
  const names = importing.flatMap(({ text }) => {
    const [, list = ''] =
      /import \{([^}]*)\} from "@aws-sdk\/middleware-endpoint-discovery"/.exec(text) ?? [];
    return list.split(',').map((name) => name.trim());
  });
  expect(names.filter((name) => name !== '').sort()).toEqual(Object.keys(replacement).sort());
  expect(importing.map(({ file }) => file).filter((file) => file.startsWith('commands/'))).toEqual([]);
  expect(modules.filter(({ text }) => /endpointCache|EndpointDiscoveryPlugin/.test(text))).toEqual([]);
});

it('the configuration of the client stays as it is', () => {
  const config = { region: 'eu-central-1' };
  expect(replacement.resolveEndpointDiscoveryConfig(config)).toBe(config);
  const { environmentVariableSelector, configFileSelector } =
    replacement.NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS;
  expect([environmentVariableSelector(), configFileSelector()]).toEqual([undefined, undefined]);
});
