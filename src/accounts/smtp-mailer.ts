import { createTransport } from 'nodemailer'
import type { Mail, Mailer } from './invitation-mails.ts'

/** Where mail is handed in. */
export interface MailServer {
  readonly host: string
  readonly port: number
  /** `none`: only for a server on the same machine. */
  readonly security: 'tls' | 'starttls' | 'none'
  readonly login: { readonly user: string; readonly password: string } | null
}

/** What may be logged of a mail that was not sent: no address and no text, which the server's answer can quote. */
export interface MailFailure {
  /** nodemailer's, such as `ECONNECTION`, `EAUTH`, `EENVELOPE`, `ETLS`, `EABORT`. */
  readonly code: string
  /** The server's answer, such as 550; null: it gave none. */
  readonly status: number | null
}

/** To connect, and to have the mail accepted: a request waits for it. */
const DEADLINE_MS = 10_000
/** Further mails are not sent: their links are shown instead. */
const IN_FLIGHT_MAX = 16

/** Hands mail to an SMTP server, over a connection of its own for each: invitations are rare. */
export class SmtpMailer implements Mailer {
  readonly #transport: ReturnType<typeof createTransport>
  readonly #from: { readonly name: string; readonly address: string }
  readonly #deadlineMs: number
  readonly #onFailure: (failure: MailFailure) => void
  #inFlight = 0

  /** @param options.trustedCa PEM, in addition to the system's */
  constructor(options: {
    server: MailServer
    from: { readonly name: string; readonly address: string }
    onFailure: (failure: MailFailure) => void
    deadlineMs?: number
    trustedCa?: string
  }) {
    const { host, port, security, login } = options.server
    const { deadlineMs = DEADLINE_MS, trustedCa } = options
    this.#from = options.from
    this.#deadlineMs = deadlineMs
    this.#onFailure = options.onFailure
    this.#transport = createTransport({
      host,
      port,
      secure: security === 'tls',
      requireTLS: security === 'starttls',
      ignoreTLS: security === 'none',
      connectionTimeout: deadlineMs,
      greetingTimeout: deadlineMs,
      socketTimeout: deadlineMs,
      // A mail is text: nothing in it makes this process read a file or fetch an address.
      disableFileAccess: true,
      disableUrlAccess: true,
      ...(login !== null && { auth: { user: login.user, pass: login.password } }),
      ...(trustedCa !== undefined && { tls: { ca: trustedCa } }),
    })
  }

  /** Connects and logs in without sending mail. @returns null when the server accepts the login */
  async knock(): Promise<MailFailure | null> {
    try {
      await this.#transport.verify()
      return null
    } catch (error) {
      return failureOf(error)
    } finally {
      this.#transport.close()
    }
  }

  async send({ to, subject, text }: Mail): Promise<boolean> {
    if (this.#inFlight >= IN_FLIGHT_MAX) {
      this.#onFailure({ code: 'TOO_MANY', status: null })
      return false
    }
    this.#inFlight += 1
    try {
      await this.#transport.sendMail({
        // A copy: nodemailer writes to what it is given, in a callback, where an error would end the process.
        from: { ...this.#from },
        // Objects: a text would be read as a list of addresses.
        to: { name: '', address: to },
        envelope: { from: this.#from.address, to: [{ address: to }] },
        subject,
        text,
        // Nobody is away from an invitation (RFC 3834).
        headers: { 'Auto-Submitted': 'auto-generated' },
        signal: AbortSignal.timeout(this.#deadlineMs),
      })
      return true
    } catch (error) {
      this.#onFailure(failureOf(error))
      return false
    } finally {
      this.#inFlight -= 1
    }
  }
}

function failureOf(error: unknown): MailFailure {
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown }
  return {
    code: typeof code === 'string' ? code : 'UNKNOWN',
    status: typeof responseCode === 'number' ? responseCode : null,
  }
}
