/* `bun run test/support/slow-sockets.ts PORT COUNT`: sockets that send a request one byte at a time and never finish it. */
import { connect } from 'node:net'

const [port = 0, count = 0] = process.argv.slice(2).map(Number)
const REQUEST = 'GET /partner/v1/units HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: '

for (let i = 0; i < count; i++) {
  const socket = connect(port, '127.0.0.1')
  let at = 0
  const timer = setInterval(() => socket.write(REQUEST[at++] ?? 'a'), 200)
  socket.on('close', () => clearInterval(timer))
  // To be cut off is what it deserves.
  socket.on('error', () => clearInterval(timer))
}
