import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';

/** What another tool needed to count the same path. */
export interface ToolResult {
  readonly tool: string;
  readonly objects: number;
  readonly bytes: number;
  readonly wallMs: number;
  readonly cpuMs: number;
}

interface Tool {
  readonly name: string;
  readonly args: (endpoint: string, bucket: string) => string[];
  readonly parse: (output: string) => { objects: number; bytes: number };
}

const tools: readonly Tool[] = [
  {
    name: 'rclone',
    args: (endpoint, bucket) => [
      'size',
      '--json',
      '--fast-list',
      `:s3,provider=Other,list_version=2,env_auth=true,force_path_style=true,endpoint="${endpoint}":${bucket}/acme/app`,
    ],
    parse: (output) => {
      const { count, bytes } = JSON.parse(output) as { count: number; bytes: number };
      return { objects: count, bytes };
    },
  },
  {
    name: 's5cmd',
    args: (endpoint, bucket) => ['--endpoint-url', endpoint, 'du', `s3://${bucket}/acme/app/*`],
    parse: (output) => {
      const [, bytes, objects] = /(\d+) bytes in (\d+) objects/.exec(output) ?? [];
      return { objects: Number(objects), bytes: Number(bytes) };
    },
  },
];

export const toolNames: readonly string[] = tools.map(({ name }) => name);

/** The tools on the PATH. */
export function installedTools(): readonly Tool[] {
  return tools.filter(({ name }) => {
    try {
      execFileSync('sh', ['-c', `command -v ${name}`], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  });
}

/** Runs a tool once. Times include the start of its process, as bash's `time` reports them. */
export async function runTool(tool: Tool, input: { endpoint: string; bucket: string }): Promise<ToolResult> {
  const command = [tool.name, ...tool.args(input.endpoint, input.bucket)]
    .map((part) => `'${part}'`)
    .join(' ');
  // None of the caller's own AWS settings: only the given store and its keys.
  const env = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    AWS_ACCESS_KEY_ID: 'bench',
    AWS_SECRET_ACCESS_KEY: 'bench-secret',
    AWS_REGION: 'us-east-1',
  };
  const { stdout, stderr } = await promisify(execFile)(
    'bash',
    ['-c', `TIMEFORMAT='TIMES %R %U %S'; time ${command}`],
    { env },
  );
  const [, wall, user, system] = /TIMES ([\d.]+) ([\d.]+) ([\d.]+)/.exec(stderr) ?? [];
  const cpuMs = (Number(user) + Number(system)) * 1000;
  return { tool: tool.name, ...tool.parse(stdout), wallMs: Number(wall) * 1000, cpuMs };
}
