#!/usr/bin/env node
// A minimal Lambda runtime for Node. It loads the handler that _HANDLER names, gets events from the runtime API and
// answers them. AWS's own runtime client for Node exists only inside the managed runtime.
import { join } from 'node:path';

const { AWS_LAMBDA_RUNTIME_API, LAMBDA_TASK_ROOT = '', _HANDLER = '' } = process.env;
const api = `http://${AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime`;
const [file = '', name = ''] = _HANDLER.split('.');
const { [name]: handler } = await import(join(LAMBDA_TASK_ROOT, `${file}.mjs`));

for (;;) {
  const next = await fetch(`${api}/invocation/next`);
  const awsRequestId = next.headers.get('lambda-runtime-aws-request-id');
  const deadlineMs = Number(next.headers.get('lambda-runtime-deadline-ms'));
  const context = { awsRequestId, getRemainingTimeInMillis: () => deadlineMs - Date.now() };
  const [outcome, body] = await handler(await next.json(), context).then(
    (result) => ['response', result ?? null],
    (error) => ['error', { errorType: error.name, errorMessage: error.message }],
  );
  await fetch(`${api}/invocation/${awsRequestId}/${outcome}`, { method: 'POST', body: JSON.stringify(body) });
}
