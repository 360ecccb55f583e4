import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { Note } from '../../design/feedback.tsx'
import { CodeBlock } from '../../design/secret-dialog.tsx'
import { instantText } from '../../format/instants.ts'
import { nameText } from '../../format/texts.ts'
import type { Person } from './person-table.tsx'

export interface Invitation {
  /** Null: the request was a repetition, and the link is shown only once. */
  readonly link: string | null
  readonly expiresAt: string
  /** Whether the person has it by e-mail. */
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
            <Note tone="good">The link was e-mailed to {person.email}.</Note>
          ) : (
            <p>Pass this link on to {name}. It lets them sign in, so send it to nobody else.</p>
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
