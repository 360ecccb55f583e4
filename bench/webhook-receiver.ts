/** Receives webhooks on this machine and accepts each of them. Ends with its input. */
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  development: false,
  fetch: () => new Response(null, { status: 204 }),
})
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.port}` }))
for await (const _ of Bun.stdin.stream()) {
  // Nothing is asked of it.
}
await server.stop(true)
