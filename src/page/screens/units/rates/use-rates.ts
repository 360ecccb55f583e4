import { useEffect, useState } from 'preact/hooks'
import { answerOf, client, taggedAnswerOf } from '../../../api/client.ts'
import type { Problem } from '../../../api/problem.ts'
import type { Schema } from '../../../api/schema.ts'
import { resources } from '../../../data/resources.ts'
import { useMutation } from '../../../data/use-mutation.ts'
import { useResource } from '../../../data/use-resource.ts'
import { useSession } from '../../../data/use-session.ts'
import { toast } from '../../../design/toast.tsx'
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
  type RatesErrors,
  ratesOf,
  type Saved,
} from './rates-draft.ts'

/** The rates of a unit that are being edited. */
export interface RatesEditing {
  readonly slug: string
  /** What the draft is based on. */
  readonly base: Saved
  readonly draft: RatesDraft
  readonly errors: RatesErrors
  readonly isUnsaved: boolean
  /** What a colleague has saved meanwhile; null: nothing. */
  readonly theirs: Rates | null
  readonly isSaving: boolean
  readonly problem: Problem | null
  change(change: Partial<RatesDraft> | ((draft: RatesDraft) => Partial<RatesDraft>)): void
  discard(): void
  save(): void
  /** Gives the draft up for the colleague's. */
  takeTheirs(): void
  /** Keeps the draft, as a change of the colleague's rates. */
  keepMine(): void
}

/** As the service has them. `tag`: the entity tag of the rates, null while it is not known. */
interface Read extends Saved {
  readonly tag: string | null
}

interface Editing {
  readonly base: Read
  readonly draft: RatesDraft
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
  const {
    data,
    error,
    refresh,
    change: show,
  } = useResource(`units/${slug}/rates`, async (signal) => {
    const read = client.GET('/portal/v1/agencies/{agencySlug}/units/{unitSlug}/rates', { params, signal })
    const { body, tag } = await taggedAnswerOf(read)
    return { rates: body.rates, tag }
  })
  const [state, setState] = useState<Editing | null>(null)
  const rates = data?.rates
  const tag = data?.tag ?? null
  const prices = unit === undefined ? undefined : pricesOf(unit)

  // Only when something has been read that is different: the two are not read at the same moment.
  useEffect(() => {
    if (rates === undefined || prices === undefined) return
    setState((now) => followed(now, { rates, prices, tag }))
  }, [rates && canonical(rates), tag, JSON.stringify(prices)])

  const setRates = useMutation({
    send: ({ body, basedOn }: { body: Rates; basedOn: string | null }, headers) => {
      const header = basedOn === null ? headers : { ...headers, 'If-Match': basedOn }
      return taggedAnswerOf(
        client.PUT('/portal/v1/agencies/{agencySlug}/units/{unitSlug}/rates', { params: { ...params, header }, body }),
      )
    },
    onDone: ({ body, tag }) => {
      const saved = { rates: body.rates, tag }
      // At once: else it would look for a moment as if a colleague had saved the previous rates.
      show(() => saved)
      setState((now) => now && { ...now, base: { ...now.base, ...saved } })
    },
    report: 'inline',
  })
  const setPrices = useMutation({
    send: (body: Partial<Prices>, header) =>
      answerOf(
        client.PATCH('/portal/v1/agencies/{agencySlug}/units/{unitSlug}', { params: { ...params, header }, body }),
      ),
    onDone: (saved) => setState((now) => now && { ...now, base: { ...now.base, prices: pricesOf(saved.unit) } }),
    report: 'inline',
  })

  if (state === null) return { editing: null, error, refresh }
  const { base, draft } = state
  const errors = errorsOf(draft)

  const save = async () => {
    // Rates first: only they can be refused because of a colleague, and then nothing has been written.
    const body = ratesOf(draft)
    if (canonical(body) !== canonical(base.rates)) {
      const saved = await setRates.run({ body, basedOn: base.tag })
      if (saved === undefined) {
        void refresh()
        return
      }
    }
    const changed = changedPrices(base.prices, draft)
    if (Object.keys(changed).length > 0 && (await setPrices.run(changed)) === undefined) return
    resources.invalidate('units')
    toast({ tone: 'good', text: 'Rates saved. They apply from the next quote.' })
  }
  const isStale = rates !== undefined && canonical(rates) !== canonical(base.rates)
  const rebase = (take: (now: Editing, theirs: Read) => Editing) => {
    setRates.reset()
    if (rates !== undefined) setState((now) => now && take(now, { ...now.base, rates, tag }))
  }
  const problem = setRates.problem?.code === 'RATES_CHANGED' ? null : setRates.problem
  return {
    editing: {
      slug,
      base,
      draft,
      errors,
      isUnsaved: isChanged(base, draft),
      theirs: isStale && !setRates.isRunning ? rates : null,
      isSaving: setRates.isRunning || setPrices.isRunning,
      problem: problem ?? setPrices.problem,
      change: (change) =>
        setState((now) => {
          if (now === null) return null
          const part = typeof change === 'function' ? change(now.draft) : change
          return { ...now, draft: { ...now.draft, ...part } }
        }),
      discard: () => {
        setRates.reset()
        setPrices.reset()
        setState(
          isStale
            ? { base: { ...base, rates, tag }, draft: draftOf({ ...base, rates }) }
            : { base, draft: draftOf(base) },
        )
      },
      save: () => void save(),
      takeTheirs: () => rebase((_, theirs) => ({ base: theirs, draft: draftOf(theirs) })),
      keepMine: () => rebase((now, theirs) => ({ ...now, base: theirs })),
    },
    error,
    refresh,
  }
}

/** Rates just reloaded. Shown at once if there is no draft; otherwise the user decides (`theirs`), except for prices they did not edit. */
function followed(now: Editing | null, read: Read): Editing {
  const isSame = now !== null && canonical(now.base.rates) === canonical(read.rates)
  if (now === null || !isChanged(now.base, now.draft)) {
    // The fields keep their place while nothing is different.
    const draft = isSame ? { ...now.draft, prices: read.prices } : draftOf(read)
    return { base: read, draft }
  }
  const prices = { ...now.draft.prices }
  for (const field of PRICE_FIELDS) if (prices[field] === now.base.prices[field]) prices[field] = read.prices[field]
  const base = isSame ? read : { ...now.base, prices: read.prices }
  return { base, draft: { ...now.draft, prices } }
}
