import type { Agency } from '../core/catalogue/agency.ts'
import type { Instant } from '../core/domain/booking.ts'
import { type Clock, HOUR_MS } from '../lib/clock.ts'

/** A text to one address. */
export interface Mail {
  readonly to: string
  /** One line. */
  readonly subject: string
  readonly text: string
}

export interface Mailer {
  /** Whether the mail server has accepted it. A failure is reported, and not thrown. */
  send(mail: Mail): Promise<boolean>
}

/** An invitation to be mailed. */
export interface InvitationMail {
  readonly to: string
  /** The person's. */
  readonly name: string
  readonly agency: Pick<Agency, 'id' | 'name' | 'timezone'>
  /** What the person opens. */
  readonly link: string
  /** Null: it is the page, where they sign in with the provider. */
  readonly expiresAt: Instant | null
}

/** Mails that an agency can cause: otherwise its owner could have the operator's server send to the whole world. */
export const MAILS_PER_HOUR_MAX = 60

/** Sends invitations by mail, where there is a mail server. */
export class InvitationMails {
  readonly #mailer: Mailer | null
  readonly #clock: Clock
  /** By agency, monotonic; cleared every hour, so an agency may have twice as many in an hour that spans two. */
  readonly #sent = new Map<string, number>()
  #sinceMs: number

  /** @param options.mailer null: links are only shown */
  constructor({ mailer, clock }: { mailer: Mailer | null; clock: Clock }) {
    this.#mailer = mailer
    this.#clock = clock
    this.#sinceMs = clock.monotonicMs()
  }

  /** Whether it was sent. Otherwise whoever invites has to pass the link on. */
  async send(invitation: InvitationMail): Promise<boolean> {
    if (this.#mailer === null || !this.#takeOf(invitation.agency.id)) return false
    return this.#mailer.send(written(invitation))
  }

  #takeOf(agencyId: string): boolean {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#sinceMs >= HOUR_MS) {
      this.#sinceMs = nowMs
      this.#sent.clear()
    }
    const sent = this.#sent.get(agencyId) ?? 0
    if (sent >= MAILS_PER_HOUR_MAX) return false
    this.#sent.set(agencyId, sent + 1)
    return true
  }
}

/** What the invited person reads. */
function written({ to, name, agency, link, expiresAt }: InvitationMail): Mail {
  const agencyName = oneLine(agency.name)
  return {
    to,
    subject: `Your access to ${agencyName}`,
    text: `Hello ${oneLine(name)},

you have been invited to work with the bookings of ${agencyName}.
${expiresAt === null ? 'Open this page and sign in with the account for this e-mail address:' : 'Open this link to set up your access:'}

${link}
${expiresAt === null ? '' : limitsOf(expiresAt, agency.timezone)}
If you did not expect this message, you can ignore it.
`,
  }
}

function limitsOf(expiresAt: Instant, timeZone: string): string {
  const until = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone }).format(expiresAt)
  return `
The link works once, until ${until} (${timeZone}).
It is meant for you alone: anyone who has it can sign in as you. Do not forward it.
`
}

/** Line breaks of a name would let it write paragraphs of the mail. */
function oneLine(name: string): string {
  return name.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
}
