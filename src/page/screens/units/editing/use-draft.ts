/** Something of a unit that is saved as a whole, such as its rates: as read, as edited, and as colleagues save it in the meantime. */
import { useEffect, useState } from 'preact/hooks'
import type { Tagged } from '../../../api/client.ts'
import type { Problem } from '../../../api/problem.ts'
import { useMutation, type WriteHeaders } from '../../../data/use-mutation.ts'
import { useResource } from '../../../data/use-resource.ts'

/** A draft and what it is based on: the value that is saved as a whole, and `R`, which is edited with it but saved otherwise. */
export interface Drafted<T, R, D> {
  readonly base: Tagged<T> & R
  readonly draft: D
}

interface DraftOptions<T, R, D> {
  /** Key of the resource. */
  readonly key: string
  /** Undefined: not read yet. */
  readonly rest: R | undefined
  read(signal: AbortSignal): Promise<Tagged<T>>
  write(value: T, headers: WriteHeaders): Promise<Tagged<T>>
  /** A text that is equal for values that mean the same. */
  canonical(value: T): string
  draftOf(base: Tagged<T> & R): D
  /** The draft after something else has been read. Unsaved changes stay. */
  followed(now: Drafted<T, R, D> | null, read: Tagged<T> & R): Drafted<T, R, D>
}

/** What a view needs to show and edit a draft. */
export interface Editing<T, D> {
  readonly slug: string
  readonly draft: D
  /** Messages by field. */
  readonly errors: ReadonlyMap<string, string>
  readonly isUnsaved: boolean
  /** What a colleague has saved in the meantime; null: nothing. */
  readonly theirs: T | null
  readonly isSaving: boolean
  readonly problem: Problem | null
  change(change: Partial<D> | ((draft: D) => Partial<D>)): void
  discard(): void
  save(): void
  /** Discards the draft in favour of the colleague's version. */
  takeTheirs(): void
  /** Keeps the draft, now based on the colleague's version. */
  keepMine(): void
}

/** @param conflict the code that refuses a draft whose base is no longer what is saved */
export function useDraft<T, R extends object, D>(options: DraftOptions<T, R, D>, conflict: string) {
  const { key, rest, canonical, draftOf } = options
  const { data, error, refresh, change: show } = useResource(key, options.read)
  const [state, setState] = useState<Drafted<T, R, D> | null>(null)
  const read = data === undefined || rest === undefined ? undefined : { ...rest, ...data }

  // Only if what was read differs: value and `rest` are not read at the same moment.
  useEffect(() => {
    if (read !== undefined) setState((now) => options.followed(now, read))
  }, [JSON.stringify(read)])

  const put = useMutation({
    send: ({ value, basedOn }: { value: T; basedOn: string | null }, headers) =>
      options.write(value, basedOn === null ? headers : { ...headers, 'If-Match': basedOn }),
    onDone: (saved) => {
      // At once, or for a moment the previous value would look as if a colleague had saved it.
      show(() => saved)
      setState((now) => now && { ...now, base: { ...now.base, ...saved } })
    },
    report: 'inline',
  })
  const isStale = state !== null && data !== undefined && canonical(data.value) !== canonical(state.base.value)
  const rebase = (take: (now: Drafted<T, R, D>, theirs: Tagged<T> & R) => Drafted<T, R, D>) => {
    put.reset()
    if (data !== undefined) setState((now) => now && take(now, { ...now.base, ...data }))
  }
  const afresh = (base: Tagged<T> & R) => ({ base, draft: draftOf(base) })
  return {
    state,
    error,
    refresh,
    /** Writes the value if it differs from what is saved. False: it was refused, and nothing was written. */
    async put(value: T): Promise<boolean> {
      if (state === null || canonical(value) === canonical(state.base.value)) return true
      const saved = await put.run({ value, basedOn: state.base.tag })
      if (saved === undefined) void refresh()
      return saved !== undefined
    },
    rebaseOn: (rest: R) => setState((now) => now && { ...now, base: { ...now.base, ...rest } }),
    editing: {
      theirs: isStale && !put.isRunning ? (data?.value ?? null) : null,
      isSaving: put.isRunning,
      problem: put.problem?.code === conflict ? null : put.problem,
      change: (change: Partial<D> | ((draft: D) => Partial<D>)) =>
        setState((now) => {
          if (now === null) return null
          const part = typeof change === 'function' ? change(now.draft) : change
          return { ...now, draft: { ...now.draft, ...part } }
        }),
      discard: () => rebase((now, theirs) => afresh(isStale ? theirs : now.base)),
      takeTheirs: () => rebase((_, theirs) => afresh(theirs)),
      keepMine: () => rebase((now, theirs) => ({ ...now, base: theirs })),
    },
  }
}
