/**
 * Bun's router reads a path as it was sent; `Request.url`, by which everything else goes, has dots and backslashes resolved. A proxy that
 * lets `/docs/` through reads `/docs/..\metrics` as the router does. What the two read differently is 404 before anything looks at it.
 */
import { systemIds } from '../../lib/ids.ts'
import { plainHeaders, problemAnswer } from '../answer.ts'
import { notFound } from '../problems.ts'
import { requestIdOf, targetOf } from '../request.ts'
import type { Answering, ServedRoutes } from './served-routes.ts'
import { withoutCors } from './without-cors.ts'

/**
 * For what the router has no route for.
 * @param routes those that it has: a request that is one of theirs by its URL was sent as another
 */
export function unlessRouted(routes: ServedRoutes, answer: Answering): Answering {
  const byMethod = new Map<string, string[]>()
  for (const [path, methods] of Object.entries(routes)) {
    for (const method of Object.keys(methods)) byMethod.set(method, [...(byMethod.get(method) ?? []), patternOf(path)])
  }
  const routed = new Map([...byMethod].map(([method, patterns]) => [method, new RegExp(`^(?:${patterns.join('|')})$`)]))
  return (request) => {
    // Bun answers HEAD by the route of GET.
    const pattern = routed.get(request.method) ?? (request.method === 'HEAD' ? routed.get('GET') : undefined)
    return pattern?.test(targetOf(request.url).path) === true ? refuse(request) : answer(request)
  }
}

/** For the route with this path: a request that is not one of its by its URL was sent as another. */
export function ifRouted(path: string, answer: Answering): Answering {
  // Whatever has no parameter was matched letter by letter.
  if (!path.includes(':')) return answer
  const pattern = new RegExp(`^${patternOf(path)}$`)
  return (request) => (pattern.test(targetOf(request.url).path) ? answer(request) : refuse(request))
}

const refuse = withoutCors((request) => {
  const requestId = requestIdOf(request.headers.get('x-request-id'), systemIds)
  return problemAnswer(notFound('route'), requestId, plainHeaders(requestId))
})

function patternOf(path: string): string {
  return path
    .split('/')
    .map((segment) => (segment.startsWith(':') ? '[^/#]+' : RegExp.escape(segment)))
    .join('/')
}
