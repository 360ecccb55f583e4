import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { Note } from '../../design/feedback.tsx'
import { CodeBlock } from '../../design/secret-dialog.tsx'
import { instantText } from '../../format/instants.ts'
import { nameText } from '../../format/texts.ts'
import type { Person } from './person-table.tsx'

export interface Invitation {
  /** Null: this answers a repeated request, and the link is shown only once. */
  readonly link: string | null
  readonly expiresAt: string
  /** Whether the link was sent to the person by e-mail. */
  readonly mailed: boolean
}

/** The link for a person, shown once. */
export function InvitationDialog({
  title,
  person,
  invitation: { link, expiresAt, mailed },
  onClose,
}: {
  title: string
  person: Pick<Person, 'name' | 'email'>
  invitation: Invitation
  onClose: () => void
}) {
  const { agency } = useSession()
  const name = nameText(person.name)
  return (
    <Dialog
      title={title}
      footer={
        <Button tone="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      {link === null ? (
        <Note tone="warn">
          The connection broke before the link arrived, and it cannot be shown again. Send {name} another link.
        </Note>
      ) : (
        <>
          {mailed ? (
            <Note tone="good">The link has been sent to {person.email}.</Note>
          ) : (
            <p>
              Give this link to {name} and to nobody else: the first person who opens it can sign in as {name}.
            </p>
          )}
          <CodeBlock label="Link" text={link} isSecret />
          <p class="muted">
            It works once, until {instantText(expiresAt, agency.timezone)}, and{' '}
            <strong>will not be shown again.</strong> You can send another one at any time.
          </p>
        </>
      )}
    </Dialog>
  )
}
