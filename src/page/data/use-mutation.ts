import { useRef, useState } from 'preact/hooks'
import { type Problem, problemOf } from '../api/problem.ts'
import { toast } from '../design/toast.tsx'
import { resources } from './resources.ts'

/** A new key for `Idempotency-Key`. `crypto.randomUUID` is missing where the page is read over plain HTTP. */
export function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Headers of a write: to be passed on as `params.header` or `headers`. */
export interface WriteHeaders {
  readonly 'Idempotency-Key': string
  readonly 'If-Match'?: string
}

interface MutationOptions<Input, Result> {
  /** Sends the write. */
  readonly send: (input: Input, headers: WriteHeaders) => Promise<Result>
  /** The version that the person saw: the write is refused when a colleague has changed it since. */
  readonly version?: (input: Input) => number | undefined
  /** Shows the outcome before the service has answered. @returns takes it back if the service refuses */
  readonly optimistic?: (input: Input) => () => void
  /** Prefixes of the resources to be reloaded after success. */
  readonly invalidates?: readonly string[]
  readonly onDone?: (result: Result, input: Input) => void
  /** Where a refusal is shown. `inline`: the caller shows `problem`, as forms do. */
  readonly report?: 'toast' | 'inline'
}

interface Mutation<Input, Result> {
  /** @returns undefined when it failed: the reason is in `problem`, and said in a toast unless reported inline */
  run(input: Input): Promise<Result | undefined>
  readonly isRunning: boolean
  readonly problem: Problem | null
  /** Whether this input was sent and its outcome is not known: it may have been carried out, and sending it again is safe. */
  isUnanswered(input: Input): boolean
  /** Forgets the problem, for example when a dialog is opened again. */
  reset(): void
}

/**
 * A write. The same input sent again after a failure without an answer goes out with the same `Idempotency-Key`, so that it cannot be
 * carried out twice.
 */
export function useMutation<Input, Result>(options: MutationOptions<Input, Result>): Mutation<Input, Result> {
  const [isRunning, setRunning] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const unanswered = useRef<{ input: string; key: string } | null>(null)

  const textOf = (input: Input): string => JSON.stringify(input) ?? ''
  const run = async (input: Input): Promise<Result | undefined> => {
    const text = textOf(input)
    const key = unanswered.current?.input === text ? unanswered.current.key : newIdempotencyKey()
    unanswered.current = { input: text, key }
    const version = options.version?.(input)
    const headers = { 'Idempotency-Key': key, ...(version === undefined ? {} : { 'If-Match': `"${version}"` }) }
    setRunning(true)
    setProblem(null)
    const takeBack = options.optimistic?.(input)
    try {
      const result = await options.send(input, headers)
      unanswered.current = null
      for (const prefix of options.invalidates ?? []) resources.invalidate(prefix)
      options.onDone?.(result, input)
      return result
    } catch (error) {
      takeBack?.()
      const met = problemOf(error)
      if (!met.isPassing) unanswered.current = null
      setProblem(met)
      if (options.report !== 'inline') toast({ tone: 'bad', text: met.message })
      return undefined
    } finally {
      setRunning(false)
    }
  }
  const isUnanswered = (input: Input) => unanswered.current?.input === textOf(input)
  return { run, isRunning, problem, isUnanswered, reset: () => setProblem(null) }
}
