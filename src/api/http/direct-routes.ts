/**
 * The short way to the routes that are asked most: Bun's own router hands them the request, without the context that Elysia
 * makes for each. Measured, that context was a fifth of what an availability costs (docs/decisions.md). All of them are
 * routes of the app as well, which answers them just the same.
 */
import type { AnyElysia } from 'elysia'

type Answering = (request: Request) => Response | Promise<Response>
/** Of Elysia's context it takes the request alone. */
type Handler = (context: { request: Request }) => Response | Promise<Response>

/**
 * By path and method, in the shape of `Bun.serve`'s `routes`.
 * @param resources all their handlers take the request alone
 * @param faultAnswer what answers a request whose handler has thrown, at once or later
 */
export function directRoutes(
  resources: readonly AnyElysia[],
  faultAnswer: (request: Request, error: unknown) => Response,
): Record<string, Record<string, Answering>> {
  const direct: Record<string, Record<string, Answering>> = {}
  for (const { method, path, handler } of resources.flatMap((resource) => resource.routes)) {
    const handle = handler as Handler
    const answer: Answering = (request) => {
      try {
        const answer = handle({ request })
        return answer instanceof Promise ? answer.catch((error) => faultAnswer(request, error)) : answer
      } catch (error) {
        return faultAnswer(request, error)
      }
    }
    direct[path] = { ...direct[path], [method]: answer }
  }
  return direct
}
