import { roleLabel, useSession } from '../../data/use-session.ts'
import { PageHeader } from '../../design/card.tsx'
import { RoleNote } from '../../design/feedback.tsx'
import { nameText } from '../../format/texts.ts'
import { PasskeysCard } from './passkeys-card.tsx'
import { SessionsCard } from './sessions-card.tsx'

/** One's own passkeys and sessions. */
export function AccountScreen() {
  const { actor, agency } = useSession()
  const isPerson = actor.kind === 'person'
  return (
    <>
      <PageHeader
        title="Your account"
        description={
          actor.name === null
            ? 'You are signed in as the operator.'
            : `You are signed in to ${nameText(agency.name)} as ${nameText(actor.name)}, with the role ${roleLabel(actor.role)}.`
        }
      />
      {isPerson ? (
        <PasskeysCard />
      ) : (
        <RoleNote>
          You are signed in with a token. Passkeys belong to people: to have one, be added as a person by an owner.
        </RoleNote>
      )}
      <SessionsCard />
    </>
  )
}
