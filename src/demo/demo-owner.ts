import type { PeopleCommands } from '../accounts/people-commands.ts'
import type { PersonSignIn } from '../accounts/person-sign-in.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import { DAY_MS } from '../lib/clock.ts'
import { DEMO_CALLER } from './demo-diary.ts'
import { DEMO_AGENCY } from './make-demo.ts'

const OWNER_NAME = 'Demo owner'

/**
 * Makes a link that signs its opener in as the owner of the demo agency, who is made if there is none.
 * @returns its secret, good for a day and one use; null: there is no demo
 */
export async function linkOfDemoOwner({
  catalogue,
  people,
  personSignIn,
}: {
  readonly catalogue: Catalogue
  readonly people: Pick<PeopleCommands, 'create'>
  readonly personSignIn: Pick<PersonSignIn, 'makeSignInLink'>
}): Promise<string | null> {
  const agency = catalogue.agencyBySlug(DEMO_AGENCY.slug)
  if (agency === null) return null
  const known = catalogue.peopleOf(agency.id).find(({ name, role }) => name === OWNER_NAME && role === 'owner')
  if (known !== undefined) return personSignIn.makeSignInLink(known, DAY_MS)
  const made = await people.create(agency, { name: OWNER_NAME, email: null, role: 'owner' }, DEMO_CALLER)
  return made.kind === 'done' ? personSignIn.makeSignInLink(made.value.person, DAY_MS) : null
}
