/** Names that the servers and the client of the benchmark share. */
export const tenant = 'bench';
/** The one bucket of a run, and who may use it. */
export const bucket = 'bench';
export const region = 'us-east-1';
export const credentials = { accessKeyId: 'bench-access', secretAccessKey: 'bench-secret-0123456789' };
