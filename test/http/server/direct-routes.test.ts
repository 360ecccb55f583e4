import { expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { directRoutes } from '../../../src/http/route.ts'

type Context = { request: Request }

const resource = new Elysia()
  .get('/list', ({ request }: Context) => new Response(`list ${new URL(request.url).search}`))
  .post('/list', ({ request }: Context) => request.text().then((body) => new Response(`made ${body}`)))
  .get('/list/:id', ({ request }: Context) => new Response(new URL(request.url).pathname))
  .get('/throws', (_: Context): Response => {
    throw new Error('at once')
  })
  .get('/rejects', async (_: Context): Promise<Response> => {
    throw new Error('later')
  })

test('every route of a resource is reached through the server’s own router, and what it throws is answered', async () => {
  const faults: string[] = []
  const routes = directRoutes([resource], (request, error) => {
    faults.push(`${new URL(request.url).pathname} ${error instanceof Error ? error.message : error}`)
    return new Response('fault', { status: 500 })
  })
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    routes,
    fetch: () => new Response('none', { status: 404 }),
  })
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(new URL(path, server.url), init)
    return `${response.status} ${await response.text()}`
  }
  expect(await ask('/list?a=1')).toBe('200 list ?a=1')
  expect(await ask('/list', { method: 'POST', body: 'x' })).toBe('200 made x')
  expect(await ask('/list/7')).toBe('200 /list/7')
  expect(await ask('/list/7', { method: 'POST' })).toBe('404 none')
  expect([await ask('/throws'), await ask('/rejects')]).toEqual(['500 fault', '500 fault'])
  expect(faults).toEqual(['/throws at once', '/rejects later'])
  await server.stop(true)
})
