import type { Schema } from '../api/schema.ts'
import { nameText } from '../format/texts.ts'

export type AuditEntry = Schema<'AuditEntry'>

export interface ActorWords {
  readonly name: string
  /** What it is, when the name does not say. */
  readonly kind: string | null
}

/** Who did it. */
export function actorWords({ actor: { kind, name }, route }: Pick<AuditEntry, 'actor' | 'route'>): ActorWords {
  switch (kind) {
    case 'key':
      return { name: nameText(name ?? 'A key without a name'), kind: 'API key' }
    case 'access_token':
      return { name: nameText(name ?? 'Someone at the agency'), kind: null }
    case 'portal':
      return { name: 'The operator', kind: null }
    case 'system':
      return route === 'demo' ? { name: 'Demo data', kind: null } : { name: 'Timer', kind: 'automatic' }
  }
}
