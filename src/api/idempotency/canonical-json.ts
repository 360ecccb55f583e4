/**
 * A text that is the same for bodies that mean the same: members in the order of their names.
 * @param body parsed JSON; undefined for a request without a body
 */
export function canonicalJson(body: unknown): string {
  return body === undefined ? '' : JSON.stringify(ordered(body))
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(members.map(([name, member]) => [name, ordered(member)]))
}
