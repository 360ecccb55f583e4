import { SmtpMailer } from '../../accounts/smtp-mailer.ts'
import { type Check, failure, ok, skipped } from './check.ts'

const DEADLINE_MS = 5_000

/** Whether the mail server accepts the login. No mail is sent. */
export const mailServer: Check = {
  name: 'mail-server',
  run: async ({ config }) => {
    const { mail } = config.signIn
    if (mail === null) return [skipped('SMTP_URL is not set: invitations are shown on the page, not mailed.')]
    const { host, port } = mail.server
    const refusal = await new SmtpMailer({ ...mail, onFailure: () => {}, deadlineMs: DEADLINE_MS }).knock()
    if (refusal === null) return [ok(`The mail server ${host}:${port} accepts the login.`)]
    const { code, status } = refusal
    return [
      failure(
        `The service cannot log in to the mail server ${host}:${port}: ${code}${status === null ? '' : ` ${status}`}.`,
        'Correct SMTP_URL. The section Mail of docs/operating.md explains the codes.',
      ),
    ]
  },
}
