import { answerOf, client, type Tagged, taggedAnswerOf } from '../../../api/client.ts'
import type { Problem } from '../../../api/problem.ts'
import type { Schema } from '../../../api/schema.ts'
import { resources } from '../../../data/resources.ts'
import { useMutation } from '../../../data/use-mutation.ts'
import { useSession } from '../../../data/use-session.ts'
import { toast } from '../../../design/toast.tsx'
import { type Drafted, type Editing, useDraft } from '../editing/use-draft.ts'
import {
  canonical,
  changedPrices,
  draftOf,
  errorsOf,
  isChanged,
  PRICE_FIELDS,
  type Prices,
  pricesOf,
  type Rates,
  type RatesDraft,
  ratesOf,
  type Saved,
} from './rates-draft.ts'

/** The rates of a unit that are being edited. */
export interface RatesEditing extends Editing<Rates, RatesDraft> {
  /** What the draft is based on. */
  readonly base: Saved
}

/** Edited beside the rates, but saved with the unit. */
interface Beside {
  readonly prices: Prices
}

interface UsedRates {
  /** Null until the rates have been read. */
  readonly editing: RatesEditing | null
  readonly error: Problem | null
  refresh(): Promise<void>
}

/** @param unit undefined: not read yet */
export function useRates(slug: string, unit: Schema<'Unit'> | undefined): UsedRates {
  const { path } = useSession()
  const params = { path: { ...path, unitSlug: slug } }
  const { state, error, refresh, put, rebaseOn, editing } = useDraft<Rates, Beside, RatesDraft>(
    {
      key: `units/${slug}/rates`,
      rest: unit && { prices: pricesOf(unit) },
      read: (signal) =>
        taggedAnswerOf(client.GET('/portal/v1/agencies/{agencySlug}/units/{unitSlug}/rates', { params, signal })).then(
          ratesIn,
        ),
      write: (body, header) =>
        taggedAnswerOf(
          client.PUT('/portal/v1/agencies/{agencySlug}/units/{unitSlug}/rates', {
            params: { ...params, header },
            body,
          }),
        ).then(ratesIn),
      canonical,
      draftOf: (base) => draftOf(savedOf(base)),
      followed,
    },
    'RATES_CHANGED',
  )
  const setPrices = useMutation({
    send: (body: Partial<Prices>, header) =>
      answerOf(
        client.PATCH('/portal/v1/agencies/{agencySlug}/units/{unitSlug}', { params: { ...params, header }, body }),
      ),
    onDone: (saved) => rebaseOn({ prices: pricesOf(saved.unit) }),
    report: 'inline',
  })

  if (state === null) return { editing: null, error, refresh }
  const { draft } = state
  const base = savedOf(state.base)

  const save = async () => {
    // Rates first: only they can be refused because of a colleague, and then nothing has been written.
    if (!(await put(ratesOf(draft)))) return
    const changed = changedPrices(base.prices, draft)
    if (Object.keys(changed).length > 0 && (await setPrices.run(changed)) === undefined) return
    resources.invalidate('units')
    toast({ tone: 'good', text: 'Rates saved. They apply from the next quote.' })
  }
  return {
    editing: {
      ...editing,
      slug,
      base,
      draft,
      errors: errorsOf(draft),
      isUnsaved: isChanged(base, draft),
      isSaving: editing.isSaving || setPrices.isRunning,
      problem: editing.problem ?? setPrices.problem,
      discard: () => {
        setPrices.reset()
        editing.discard()
      },
      save: () => void save(),
    },
    error,
    refresh,
  }
}

function ratesIn({ value, tag }: Tagged<{ rates: Rates }>): Tagged<Rates> {
  return { value: value.rates, tag }
}

function savedOf({ value, prices }: Tagged<Rates> & Beside): Saved {
  return { rates: value, prices }
}

/** Rates just reloaded. Shown at once if there is no draft; otherwise the user decides (`theirs`), except for prices they did not edit. */
function followed(
  now: Drafted<Rates, Beside, RatesDraft> | null,
  read: Tagged<Rates> & Beside,
): Drafted<Rates, Beside, RatesDraft> {
  const isSame = now !== null && canonical(now.base.value) === canonical(read.value)
  if (now === null || !isChanged(savedOf(now.base), now.draft)) {
    // The fields keep their place while nothing is different.
    const draft = isSame ? { ...now.draft, prices: read.prices } : draftOf(savedOf(read))
    return { base: read, draft }
  }
  const prices = { ...now.draft.prices }
  for (const field of PRICE_FIELDS) if (prices[field] === now.base.prices[field]) prices[field] = read.prices[field]
  const base = isSame ? read : { ...now.base, prices: read.prices }
  return { base, draft: { ...now.draft, prices } }
}
