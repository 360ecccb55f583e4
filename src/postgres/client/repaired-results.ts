import type postgres from 'postgres'

type Sql = postgres.Sql

/**
 * A statement that fails after it has sent rows (a timeout, a cancel) leaves the row counter of postgres.js 3.4.9 set: the
 * next result on that connection starts with as many holes, and `rows[0]` of an existing row is undefined
 * (porsager/postgres issues #1119 and #1181). Here the holes are removed from every result before the caller sees it. Pull request
 * #1120 or #1190 would make this unnecessary; a test fails once a release has either.
 */
export function withRepairedResults(sql: Sql): Sql {
  return new Proxy(sql, {
    apply(target, self, args) {
      return mending(Reflect.apply(target as unknown as (...args: unknown[]) => unknown, self, args))
    },
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (name !== 'unsafe' || typeof member !== 'function') return member
      return (...args: unknown[]) => mending(member.apply(target, args))
    },
  })
}

interface PendingQuery {
  resolve: (result: unknown) => void
}

/** Fragments, arrays and other helpers are made by the same call; only what can be resolved is a statement. */
function mending<T>(made: T): T {
  const query = made as T & Partial<PendingQuery>
  const { resolve } = query
  if (typeof resolve === 'function') query.resolve = (result) => resolve(closedUp(result))
  return made
}

function closedUp(result: unknown): unknown {
  if (!Array.isArray(result)) return result
  const { count } = result as unknown as { count: unknown }
  // Only a select has as many rows as its count; for others the count is of rows touched, which are not sent.
  if (typeof count === 'number' && result.length > count && !(0 in result)) result.splice(0, result.length - count)
  return result
}
