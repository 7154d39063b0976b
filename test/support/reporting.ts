/**
 * If `TEST_REPORT` names a file, the results are also written there as JSON, so that CI can count them.
 */
export function reporting(): { reporters?: (string | [string, { outputFile: string }])[] } {
  const outputFile = process.env['TEST_REPORT'];
  return outputFile ? { reporters: ['default', ['json', { outputFile }]] } : {};
}
