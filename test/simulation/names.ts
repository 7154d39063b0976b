/** Names in a simulation, by index. */
/** Each begins with the one before it, so a prefix without its slash would mix them up. */
export const tenantName = (index: number) => ['acme', 'acme-b', 'acme-b2'][index] ?? `acme-b2${index}`;
export const repoName = (index: number) => `repo-${index}`;
/** Up to 272. Of the first sixteen, several begin with the same digits, so that shards have to be split. */
export const oidName = (index: number) => {
  const digits = index.toString(16).padStart(index < 16 ? 1 : 3, '0');
  const start = index < 16 ? ['00', '01', '1'][index % 3] : '';
  return (start + digits.repeat(64)).slice(0, 64);
};
/** Of files: with what separates names elsewhere, beyond all hex digits, or like an oid. */
export const fileName = (index: number) =>
  index % 5 === 4 ? oidName(index) : `${['photos/a b', 'photos/ü:#', 'a/~', '文'][index % 5]}/${index}`;
