/**
 * Where `TEST_REPORT` names a file, what ran is written there as JSON too, so that CI can count it whatever
 * command started the tests.
 */
export function reporting(): { reporters?: (string | [string, { outputFile: string }])[] } {
  const outputFile = process.env['TEST_REPORT'];
  return outputFile ? { reporters: ['default', ['json', { outputFile }]] } : {};
}
