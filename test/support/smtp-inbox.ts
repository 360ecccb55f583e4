import { text } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

/** A mail as the server has accepted it. */
interface ReceivedMail {
  /** Of the envelope. */
  readonly from: string
  readonly to: readonly string[]
  /** As sent, with unfolded lines. */
  readonly headers: readonly string[]
  readonly text: string
  readonly login: string | undefined
  readonly isEncrypted: boolean
}

export interface SmtpInbox {
  readonly port: number
  readonly mails: readonly ReceivedMail[]
  close(): Promise<void>
}

const LOGIN = { user: 'desk', password: 'p@ss:word' }

/** A real SMTP server on a free port of this machine. Takes any mail without a login, unless the options say otherwise. */
export async function openSmtpInbox(
  options: SMTPServerOptions & { takesLogin?: boolean; port?: number } = {},
): Promise<SmtpInbox> {
  const { takesLogin = false, port = 0, ...more } = options
  const mails: ReceivedMail[] = []
  const server = new SMTPServer({
    authOptional: !takesLogin,
    hideSTARTTLS: more.cert === undefined,
    logger: false,
    onAuth: ({ username, password }, _, callback) => {
      const isRight = username === LOGIN.user && password === LOGIN.password
      callback(isRight ? null : new Error(`Wrong password ${password}`), isRight ? { user: LOGIN.user } : undefined)
    },
    onData: (stream, session, callback) => {
      text(stream).then((raw) => {
        const { mailFrom, rcptTo } = session.envelope
        mails.push({
          ...read(raw),
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          login: session.user,
          isEncrypted: session.secure,
        })
        callback()
      }, callback)
    },
    ...more,
  })
  // A client that breaks off.
  server.on('error', () => {})
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve)
  })
  const address = server.server.address()
  if (address === null || typeof address === 'string') throw new Error('Cannot open an inbox in a test: no port')
  return {
    port: address.port,
    mails,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve)
      }),
  }
}

function read(raw: string): Pick<ReceivedMail, 'headers' | 'text'> {
  const end = raw.indexOf('\r\n\r\n')
  const headers = raw
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  const body = raw.slice(end + 4)
  const isQuoted = headers.some((header) => /^content-transfer-encoding: quoted-printable$/i.test(header))
  return { headers, text: (isQuoted ? unquoted(body) : body).replaceAll('\r\n', '\n') }
}

function unquoted(body: string): string {
  const bytes = body
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
