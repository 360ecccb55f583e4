import { cors } from '@elysiajs/cors'
import { Elysia } from 'elysia'
import { ALLOWED_HEADERS, EXPOSED_HEADERS, PREFLIGHT_MAX_AGE_S } from './cors.ts'

/** Answers preflights and nothing else: on the other requests the plugin's hooks would cost more than the answer. */
const preflights = new Elysia().use(
  cors({
    origin: '*',
    credentials: false,
    methods: ['GET', 'HEAD', 'POST', 'OPTIONS'],
    allowedHeaders: [...ALLOWED_HEADERS],
    exposeHeaders: [...EXPOSED_HEADERS],
    maxAge: PREFLIGHT_MAX_AGE_S,
  }),
)

/** OPTIONS on any path of an open surface: 204, without a key (docs/contract.md#conventions). */
export async function preflightAnswer(request: Request, requestId: string): Promise<Response> {
  const answer = await preflights.handle(
    new Request('http://localhost/', { method: 'OPTIONS', headers: request.headers }),
  )
  answer.headers.set('X-Request-Id', requestId)
  // The same for every request.
  answer.headers.delete('Vary')
  return answer
}
