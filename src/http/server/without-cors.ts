import { CORS_HEADERS } from '../cors.ts'
import type { Answering } from './served-routes.ts'

/** Answers as `fetch` does, but scripts of other origins cannot read the answers. */
export function withoutCors(fetch: Answering): Answering {
  return (request) => {
    const response = fetch(request)
    return response instanceof Promise ? response.then(stripped) : stripped(response)
  }
}

function stripped(response: Response): Response {
  for (const name of Object.keys(CORS_HEADERS)) response.headers.delete(name)
  return response
}
