import { client, type Tagged, taggedAnswerOf } from '../../../api/client.ts'
import type { Problem } from '../../../api/problem.ts'
import { resources } from '../../../data/resources.ts'
import { useSession } from '../../../data/use-session.ts'
import { toast } from '../../../design/toast.tsx'
import type { Restrictions } from '../../../stays/restrictions.ts'
import { type Editing, useDraft } from '../editing/use-draft.ts'
import { canonical, draftOf, errorsOf, type RestrictionsDraft, restrictionsOf } from './restrictions-draft.ts'

/** The restrictions of a unit that are being edited. */
export interface RestrictionsEditing extends Editing<Restrictions, RestrictionsDraft> {
  /** What the draft is based on. */
  readonly base: Restrictions
}

interface UsedRestrictions {
  /** Null until they have been read. */
  readonly editing: RestrictionsEditing | null
  readonly error: Problem | null
  refresh(): Promise<void>
}

export function useRestrictions(slug: string): UsedRestrictions {
  const { path } = useSession()
  const params = { path: { ...path, unitSlug: slug } }
  const isChanged = (base: Tagged<Restrictions>, draft: RestrictionsDraft) =>
    canonical(restrictionsOf(draft)) !== canonical(base.value)
  const { state, error, refresh, put, editing } = useDraft<Restrictions, object, RestrictionsDraft>(
    {
      key: `units/${slug}/restrictions`,
      rest: {},
      read: (signal) =>
        taggedAnswerOf(
          client.GET('/portal/v1/agencies/{agencySlug}/units/{unitSlug}/restrictions', { params, signal }),
        ),
      write: (body, header) =>
        taggedAnswerOf(
          client.PUT('/portal/v1/agencies/{agencySlug}/units/{unitSlug}/restrictions', {
            params: { ...params, header },
            body,
          }),
        ),
      canonical,
      draftOf: ({ value }) => draftOf(value),
      // Unsaved changes stay, and so does what they were based on (`theirs`).
      followed: (now, read) => {
        const isSame = now !== null && canonical(now.base.value) === canonical(read.value)
        if (now === null || (!isSame && !isChanged(now.base, now.draft)))
          return { base: read, draft: draftOf(read.value) }
        return isSame ? { ...now, base: read } : now
      },
    },
    'RESTRICTIONS_CHANGED',
  )
  if (state === null) return { editing: null, error, refresh }
  const { base, draft } = state
  const save = async () => {
    if (!(await put(restrictionsOf(draft)))) return
    resources.invalidate('units')
    toast({
      tone: 'good',
      text: 'Restrictions saved. They apply from the next quote; existing bookings stay as they are.',
    })
  }
  return {
    editing: {
      ...editing,
      slug,
      base: base.value,
      draft,
      errors: errorsOf(draft),
      isUnsaved: isChanged(base, draft),
      save: () => void save(),
    },
    error,
    refresh,
  }
}
