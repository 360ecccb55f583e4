import { connect } from 'node:net'

export interface RawAnswer {
  readonly status: number
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

const ANSWER_MS_MAX = 5_000

/**
 * Sends bytes as they are and reads the answers until `answers` complete ones have come or the server closes. An answer without
 * `Content-Length` ends with its head.
 */
export function sendRaw(port: number, bytes: string | Uint8Array, answers = 1): Promise<RawAnswer[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let received = Buffer.alloc(0)
    const finish = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(parseAnswers(received))
    }
    const timer = setTimeout(finish, ANSWER_MS_MAX)
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, Buffer.from(chunk as Uint8Array)])
      if (parseAnswers(received).length >= answers) finish()
    })
    socket.on('close', finish)
    socket.on('error', (error) => (received.length > 0 ? finish() : reject(error)))
    socket.write(bytes)
  })
}

/** The complete answers in what has come so far. */
export function parseAnswers(received: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = received
  for (;;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) return answers
    const [statusLine = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n')
    const headers = new Map(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    const length = Number(headers.get('content-length') ?? 0)
    const body = rest.subarray(end + 4, end + 4 + length)
    if (body.length < length) return answers
    answers.push({ status: Number(statusLine.split(' ')[1]), headers, body: body.toString('utf8') })
    rest = rest.subarray(end + 4 + length)
  }
}
