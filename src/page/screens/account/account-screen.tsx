import { COMMIT, VERSION } from '../../../lib/version.ts'
import { roleLabel, useSession } from '../../data/use-session.ts'
import { PageHeader } from '../../design/card.tsx'
import { RoleNote } from '../../design/feedback.tsx'
import { nameText } from '../../format/texts.ts'
import { PasskeysCard } from './passkeys-card.tsx'
import { SessionsCard } from './sessions-card.tsx'

/** Shortened as git does. */
const COMMIT_LENGTH = 12

/** The passkeys and sessions of the person who is signed in. */
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
          You are signed in with a token. Only people have passkeys: to get one, ask an owner to add you as a person.
        </RoleNote>
      )}
      <SessionsCard />
      <p class="muted">
        nightledger {VERSION} ({COMMIT.slice(0, COMMIT_LENGTH)})
      </p>
    </>
  )
}
