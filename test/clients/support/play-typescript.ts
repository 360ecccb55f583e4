import { inspect } from 'node:util'
import { Nightledger, type Reset } from '../../../clients/typescript/src/index.ts'
import type { Case, Outcome, Played, Step } from './conformance-cases.ts'

/** Plays a case with the TypeScript client, in this process. Time passes only by its pauses. */
export async function playTypescript(
  url: string,
  { steps, options }: Pick<Case, 'steps' | 'options'>,
  key: string,
): Promise<Played> {
  const pauses: number[] = []
  const resets: unknown[] = []
  const checkpoints: unknown[] = []
  let now = 0
  const client = new Nightledger({
    key,
    url,
    ...options,
    clock: {
      now: () => now,
      random: () => 1,
      sleep: async (ms) => {
        pauses.push(ms)
        now += ms
      },
    },
  })
  const outcomes: Outcome[] = []
  const results: unknown[] = []
  for (const step of steps) {
    try {
      const onReset = ({ forget, cursor }: Reset) => void resets.push({ forget, cursor })
      const result = await call(client, step, results, onReset, checkpoints)
      results.push(result)
      outcomes.push({ result })
    } catch (error) {
      outcomes.push({ error: seen(error, step) })
    }
  }
  return { outcomes, pauses, resets, checkpoints }
}

async function call(
  client: Nightledger,
  step: Step,
  results: unknown[],
  onReset: (reset: Reset) => void,
  checkpoints: unknown[],
) {
  const path = step.call.split('.')
  const name = path.pop() ?? ''
  // biome-ignore lint/suspicious/noExplicitAny: methods are found by their names
  const owner: any = path.reduce((of: any, member) => of[member], client)
  const args = (step.args ?? []).map((arg) => filled(arg, results))
  if (step.call === 'changes.follow') args[0] = { ...Object(args[0]), onReset }
  const options = step.options === undefined ? [] : [step.options]
  const returned = owner[name](...args, ...options)
  if (!(Symbol.asyncIterator in returned)) return (await returned) ?? null
  const items: unknown[] = []
  try {
    for await (const item of returned) {
      items.push(item)
      if (items.length === step.take) break
    }
  } finally {
    if (step.call === 'changes.follow') checkpoints.push(returned.checkpoint ?? null)
  }
  return items
}

/** `$result0` stands for what the first step returned. */
function filled(arg: unknown, results: readonly unknown[]): unknown {
  if (typeof arg === 'string' && arg.startsWith('$result')) return results[Number(arg.slice('$result'.length))]
  if (typeof arg !== 'object' || arg === null || Array.isArray(arg)) return arg
  return Object.fromEntries(Object.entries(arg).map(([name, value]) => [name, filled(value, results)]))
}

function seen(error: unknown, { error: expected }: Step) {
  if (!(error instanceof Error)) throw new Error('Thrown, but no error', { cause: error })
  const names = Object.keys(expected?.members ?? {})
  const members = Object.fromEntries(names.map((name) => [name, Reflect.get(error, name) ?? null]))
  return { class: error.name, members, text: `${error.stack} ${inspect(error)} ${JSON.stringify(error)}` }
}
